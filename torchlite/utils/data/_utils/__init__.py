"""Parts of the data loader."""

import importlib.util

from . import collate, fetch, pin_memory, signal_handling, worker

HAS_NUMPY = importlib.util.find_spec("numpy") is not None
MP_STATUS_CHECK_INTERVAL = 5.0
python_exit_status = False
