"""`python -m tavern_trace`."""

import sys

from tavern_trace.cli import main

sys.exit(main())
