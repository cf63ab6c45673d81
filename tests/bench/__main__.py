"""`make bench`: many people at once, the browser's page, models asked alone, imports and exports, in turn."""

from __future__ import annotations

import sys

from tests.bench import alone, exports, load, page

if __name__ == "__main__":
    sys.exit(max(load.main([]), page.main([]), alone.main(["--rivals"]), exports.main([])))
