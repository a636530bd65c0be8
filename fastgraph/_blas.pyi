"""Matrix products through BLAS: an interface for other extensions only. See _blas.pyx."""
