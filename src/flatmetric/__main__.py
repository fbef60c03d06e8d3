"""`python -m flatmetric` is the command `flatmetric`."""

from flatmetric.cli import run

if __name__ == "__main__":
    run()
