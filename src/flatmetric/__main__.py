"""`python -m flatmetric` is the command `flatmetric`."""

from flatmetric.cli import main

if __name__ == "__main__":
    main()
