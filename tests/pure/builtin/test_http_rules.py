"""Which URLs, hosts, addresses and headers may be used."""

import pytest

from tasks.builtin.http.addresses import Blocked, check_address, check_host
from tasks.builtin.http.answer import Answer, kept, secrets_of, without
from tasks.builtin.http.request import HARMLESS, checked_headers, checked_method, redirected, target_of
from tasks.outcomes import Fail

PRIVATE = [
    "127.0.0.1",
    "127.8.8.8",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "::1",
    "fc00::1",
    "fec0::1",
    "::ffff:127.0.0.1",
    "::ffff:10.1.2.3",
    "::127.0.0.1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "64:ff9b::7f00:1",
    "64:ff9b::a00:1",
    "192.0.2.1",
    "198.18.0.1",
    "2001:db8::1",
]
NEVER = [
    "169.254.169.254",
    "169.254.0.1",
    "fe80::1",
    "fe80::1%eth0",
    "fd00:ec2::254",
    "100.100.100.200",
    "168.63.129.16",
    "0.0.0.0",
    "::",
    "224.0.0.1",
    "ff02::1",
    "255.255.255.255",
    "240.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::",
]
PUBLIC = [
    "93.184.216.34",
    "1.1.1.1",
    "2606:4700:4700::1111",
    "::ffff:1.1.1.1",
    "64:ff9b::101:101",
    "2002:101:101::",
]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_need_leave(address: str) -> None:
    with pytest.raises(Blocked):
        check_address(address, allow_private=False)
    check_address(address, allow_private=True)


@pytest.mark.parametrize("address", NEVER)
@pytest.mark.parametrize("allow_private", [False, True])
def test_addresses_that_are_never_called(address: str, allow_private: bool) -> None:
    with pytest.raises(Blocked) as refusal:
        check_address(address, allow_private=allow_private)
    assert refusal.value.retryable is False


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_called(address: str) -> None:
    check_address(address, allow_private=False)


@pytest.mark.parametrize(
    ("entry", "host", "port", "scheme"),
    [
        ("api.example.com", "api.example.com", 443, "https"),
        ("API.Example.com.", "api.example.com", 80, "http"),
        ("*.example.com", "a.b.example.com", 443, "https"),
        ("api.example.com:8443", "api.example.com", 8443, "https"),
        ("api.example.com:*", "api.example.com", 22, "http"),
        ("*", "anything.test", 443, "https"),
        ("[::1]:8080", "::1", 8080, "http"),
        ("[2606:4700::1111]", "2606:4700::1111", 443, "https"),
    ],
)
def test_allowed_hosts(entry: str, host: str, port: int, scheme: str) -> None:
    check_host(host, port, scheme, ["other.test", entry])


@pytest.mark.parametrize(
    ("entries", "host", "port", "scheme"),
    [
        ([], "example.com", 443, "https"),
        (["example.com"], "api.example.com", 443, "https"),
        (["*.example.com"], "example.com", 443, "https"),
        (["*.example.com"], "evilexample.com", 443, "https"),
        (["example.com"], "example.com.evil.test", 443, "https"),
        (["example.com"], "example.com", 6379, "http"),
        (["example.com"], "example.com", 80, "https"),
        (["example.com:8443"], "example.com", 443, "https"),
        (["example.com:x"], "example.com", 443, "https"),
    ],
)
def test_hosts_that_are_not_allowed(entries: list[str], host: str, port: int, scheme: str) -> None:
    with pytest.raises(Blocked, match="TASKS__URL_ALLOW_HOSTS"):
        check_host(host, port, scheme, entries)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://example.com/", "http"),
        ("file:///etc/passwd", "http"),
        ("gopher://x/", "http"),
        ("example.com", "http"),
        ("", "http"),
        ("https://user:secret@example.com/", "send a header"),
        ("https://@example.com/", "send a header"),
        ("https://example.com\\@evil.test/", "backslash"),
        ("https://example.com/a b", "space"),
        ("https://example.com/\r\nX: y", "control"),
        ("https:///path", "no host"),
        ("https://example.com:0/", "port 0"),
        ("https://example.com:99999/", "cannot be read"),
        ("https://[::1/", "cannot be read"),
        ("https://[fe80::1%25eth0]/", "zone"),
        ("https://exa mple.com/", "space"),
        ("https://exam$ple.com/", "no host name"),
        ("https://" + "a" * 300 + ".com/", "no host name"),
        ("https://example.com/" + "a" * 9_000, "longer"),
    ],
)
def test_urls_that_are_refused(url: str, why: str) -> None:
    with pytest.raises(Fail, match=why) as failure:
        target_of(url)
    assert failure.value.retryable is False
    assert "secret" not in str(failure.value)


def test_a_url_is_taken_apart() -> None:
    target = target_of("HTTPS://Bücher.Example.:8443/ä?q=ü&token=s3cret#part")
    assert (target.scheme, target.host, target.port) == ("https", "xn--bcher-kva.example", 8443)
    assert target.path == "/%C3%A4?q=%C3%BC&token=s3cret"
    assert target.shown == "https://xn--bcher-kva.example:8443/%C3%A4"


def test_redirects_are_resolved_and_never_leave_https() -> None:
    start = target_of("https://example.com/a/b?c")
    assert redirected(start, "../d").shown == "https://example.com/d"
    assert redirected(start, "//other.test/x").host == "other.test"
    with pytest.raises(Fail, match="https to http"):
        redirected(start, "http://example.com/")
    with pytest.raises(Fail, match="http"):
        redirected(start, "file:///etc/passwd")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "x"},
        {"content-length": "1"},
        {"Transfer-Encoding": "chunked"},
        {"X-A": "a\r\nX-B: b"},
        {"X-A": "a\x00"},
        {"X A": "a"},
        {"X-A:": "a"},
        {"": "a"},
        {"X-A": "\u20ac"},
        {"X-A": "1", "x-a": "2"},
        {f"X-{number}": "1" for number in range(60)},
    ],
)
def test_headers_that_are_refused_without_telling_their_value(headers: dict[str, str]) -> None:
    with pytest.raises(Fail) as failure:
        checked_headers(headers)
    assert failure.value.retryable is False
    assert "X-B" not in str(failure.value)


def test_methods() -> None:
    assert checked_method("post") == "POST"
    with pytest.raises(Fail, match="TRACE"):
        checked_method("TRACE")


def answer(body: bytes, content_type: str = "application/json", truncated: bool = False) -> Answer:
    return Answer(200, content_type, "", body, truncated, "https://x.test/", 0)


def test_a_secret_that_the_server_sends_back_is_blotted_out() -> None:
    secrets = secrets_of({"Authorization": 'Bearer to"ken-123', "Accept": "text/plain", "X-N": "1"}, HARMLESS)
    assert sorted(secrets) == ['Bearer to"ken-123', 'to"ken-123']
    assert without('{"got": "Bearer to\\"ken-123"}', secrets) == '{"got": "[redacted]"}'
    assert kept(answer(b'{"echo": "to\\"ken-123"}'), secrets)["json"] == {"echo": "[redacted]"}


def test_a_cut_leaves_no_half_of_a_secret() -> None:
    kept_text = kept(answer(b"hello secret-val", "text/plain", truncated=True), ["secret-value"])["text"]
    assert "secret" not in kept_text


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": "\\u0000"}',
        b'{"a": "\\ud800"}',
        b"1" * 400,
        b"[" * 5_000,
        b"{broken",
    ],
)
def test_json_that_cannot_be_stored_is_kept_as_text(body: bytes) -> None:
    result = kept(answer(body), [])
    assert "json" not in result and isinstance(result["text"], str)


def test_binary_answers_are_kept_by_size_alone() -> None:
    result = kept(answer(b"\x89PNG", "image/png"), [])
    assert result["bytes"] == 4 and "text" not in result and "json" not in result


def test_an_unknown_charset_is_read_as_utf8() -> None:
    assert kept(answer("ü\x00".encode(), "text/plain; charset=klingon"), [])["text"] == "ü\ufffd"
