"""daemon.py - a sluiced of our own with copies of models, for the tests of clients for Python."""
import contextlib
import pathlib
import shutil
import subprocess
import tempfile
import time

PRETRAINED = pathlib.Path(__file__).parent.parent / "golden/pretrained"


def until(what, happens, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = happens()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")


@contextlib.contextmanager
def serve(sluiced, models, *options):
    """Serves {name: directory}, names without a directory from PRETRAINED. Gives the URL, and with an --admin-listen
    among the options a list with that of the admin listener, too."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, model in models.items():
            shutil.copytree(PRETRAINED / model, folder / "store" / name / "1")
        ports = folder / "ports"
        admin = [] if "--admin-listen" in options else ["--admin-listen", ""]
        daemon = subprocess.Popen(
            [sluiced, "--store", folder / "store", "--listen", "127.0.0.1:0", "--port-file", ports]
            + ["--log-level", "error", *admin, *options]
        )
        try:
            until("the ports", lambda: daemon.poll() is not None or ports.exists() and ports.read_text().endswith("\n"))
            assert daemon.poll() is None, "sluiced did not start"
            urls = [f"http://127.0.0.1:{port}" for port in ports.read_text().split()]
            yield urls[0] if admin else urls
            daemon.terminate()
            assert daemon.wait(60) == 0
        finally:
            daemon.kill()
            daemon.wait()


def run(tests, *arguments):
    for test in tests:
        test(*arguments)
        print("ok", test.__name__)
