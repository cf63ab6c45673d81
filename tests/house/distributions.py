"""Build the sdist from the files of the repository, and the wheel from the sdist, as an installer would.

    python -m tests.house.distributions FOLDER          `make dist` does it into dist/

The files are copied before, so that nothing of an earlier build gets in and nothing is left in the checkout. Nothing
is downloaded: setuptools is that of this environment.
"""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]


def listed() -> list[str]:
    """The files that are, or with the next commit would be, part of the repository; raises CalledProcessError."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [name for name in names if name and (ROOT / name).is_file()]


def build(out: Path) -> tuple[Path, Path]:
    """Build both into a folder; give the paths of sdist and wheel."""
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        source, unpacked = Path(folder, "source"), Path(folder, "unpacked")
        for name in listed():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
        sdist = out / _hook("build_sdist", source, out)
        with tarfile.open(sdist) as archive:
            # Python before 3.11.4, which Debian 12 has, knows no filters; tarfile's documentation has this line.
            archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
            archive.extractall(unpacked)
        return sdist, out / _hook("build_wheel", unpacked / sdist.name.removesuffix(".tar.gz"), out)


def _hook(name: str, source: Path, out: Path) -> str:
    """Call a hook of setuptools (PEP 517) in a process of its own; give the name of the file that it made."""
    code = f"from setuptools import build_meta; print(build_meta.{name}({str(out.resolve())!r}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"setuptools could not {name.replace('_', ' ')}:\n{done.stdout}\n{done.stderr}")
    return done.stdout.splitlines()[-1]


if __name__ == "__main__":
    print(*build(Path(sys.argv[1])), sep="\n")
