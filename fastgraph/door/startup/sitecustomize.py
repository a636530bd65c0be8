"""Opens the door in a process that one with an open door has started: Python's module `site` imports this file.

Only for the interpreter that the variable FASTGRAPH_DOOR names, and so that nothing is imported before `tensorflow` is
asked for. Then the sitecustomize that this one hides, if there is one, has its turn.
"""

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class Threshold:
    """A finder that opens the door when `tensorflow`, or what is installed under that name, is first asked for."""

    @classmethod
    def open(cls) -> None:
        """Put the door itself in this finder's place."""
        finders: list[object] = sys.meta_path  # type: ignore[assignment]
        if cls in finders:
            finders.remove(cls)
            try:
                import fastgraph  # noqa: F401
            except ModuleNotFoundError as error:
                if error.name != "fastgraph":
                    raise
                # the program that opened the door found it through its own folder
                sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(_FOLDER))))
            from fastgraph.door.import_hook import open_here

            open_here()

    @classmethod
    def find_spec(cls, full: str, path: object = None, target: object = None) -> object:
        """Open the door for `tensorflow`; find nothing else."""
        if full == "tensorflow":
            cls.open()
            from fastgraph.door.import_hook import Door

            return Door.find_spec(full, path, target)  # type: ignore[arg-type]
        return None

    @classmethod
    def find_distributions(cls, context: object = None) -> object:
        """Open the door for what importlib.metadata asks for."""
        name = getattr(context, "name", None)
        if name is not None and name.lower() != "tensorflow":
            return iter(())
        cls.open()
        from fastgraph.door.import_hook import Door

        return Door.find_distributions(context)


def _next_in_line() -> None:
    """Run the sitecustomize that this one hides, if there is one."""
    this = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        if this is not None:
            sys.modules.setdefault("sitecustomize", this)


sys.path[:] = [path for path in sys.path if os.path.abspath(path) != _FOLDER]
if os.environ.get("FASTGRAPH_DOOR") == sys.prefix:
    sys.meta_path.insert(0, Threshold)  # type: ignore[arg-type]
_next_in_line()
