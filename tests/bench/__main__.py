"""`make bench`: many people at once, the page, a reply, the start, models asked alone, exports, weeks, in turn."""

from __future__ import annotations

import sys

from tests.bench import alone, exports, load, page, start, streaming, weeks

if __name__ == "__main__":
    sys.exit(
        max(
            load.main([]),
            page.main([]),
            streaming.main([]),
            start.main([]),
            alone.main([]),
            exports.main([]),
            weeks.main([]),
        )
    )
