"""Run the command line as ``python -m symscreen``."""

from symscreen.cli import main

if __name__ == "__main__":
    main()
