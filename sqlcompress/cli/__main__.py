"""``python -m sqlcompress.cli``, for where the script's folder is not on the path."""

from __future__ import annotations

from sqlcompress.cli import main

main()
