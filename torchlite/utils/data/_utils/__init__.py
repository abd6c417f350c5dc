"""Parts of the data loader."""

from . import collate, fetch, pin_memory, worker

MP_STATUS_CHECK_INTERVAL = 5.0
python_exit_status = False
