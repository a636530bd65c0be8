"""Libraries written for TensorFlow, judged by their own tests: see tools/libraries.py."""
