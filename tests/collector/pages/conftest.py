"""A collector and a browser for all tests of its pages."""

import pytest

from ...collecting import collecting


@pytest.fixture(scope="package")
def server(tmp_path_factory):
    with collecting(tmp_path_factory.mktemp("collector")) as found:
        yield found


@pytest.fixture
def browser(server, chromium):
    """A browser that remembers nothing; afterwards it has complained of nothing and asked nobody else."""
    chromium.home = server.address
    chromium.screen()
    chromium.open("/healthz")  # the smallest page of this origin
    chromium.run("localStorage.clear(); sessionStorage.clear()")
    chromium.expected = ()
    chromium.complaints()
    chromium.strangers()
    yield chromium
    chromium.offline(False)
    assert chromium.complaints() == []
    assert chromium.strangers() == set()
