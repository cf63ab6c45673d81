"""`make bench`: many people at once, the page and a reply on it, models asked alone, imports and exports, in turn."""

from __future__ import annotations

import sys

from tests.bench import alone, exports, load, page, streaming

if __name__ == "__main__":
    sys.exit(max(load.main([]), page.main([]), streaming.main([]), alone.main(["--rivals"]), exports.main([])))
