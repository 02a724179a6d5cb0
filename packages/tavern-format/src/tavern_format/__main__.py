"""Run the command as `python -m tavern_format`."""

import sys

from tavern_format.cli import main

sys.exit(main())
