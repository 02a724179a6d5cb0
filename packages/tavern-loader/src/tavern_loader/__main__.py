"""`python -m tavern_loader`."""

import sys

from tavern_loader.cli import main

sys.exit(main())
