"""Who may what, cell by cell; and what attackers of web pages try."""

from __future__ import annotations

import io
import itertools
import re
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient

from flatmetric.server.app import ENDPOINTS, application
from flatmetric.server.asking import Endpoint, Site
from flatmetric.server.schema import failures, log, sessions, teams, tokens
from tests.server.boards import CHEAP, PASSWORD, RULES, Person, Scene, result_rows, scene, table, truth_rows

# What each may ask for, besides what everybody may: written down here, so that a slip in the table of addresses shows.
PUBLIC = {
    *("GET /", "GET /entries/{n}", "GET /rules", "GET /changes", "GET /log/head", "GET /health", "GET /login"),
    *("POST /login", "GET /register", "POST /register", "GET /links/{secret}", "POST /links/{secret}"),
    *("GET /api/board", "GET /api/openapi.json"),
}
TEAM = {
    *("GET /submit", "GET /submissions", "GET /submissions/{n}", "GET /submissions/{n}/status", "GET /account"),
    *("POST /submissions/{n}/look", "POST /submissions/{n}/hand-in", "POST /submissions/{n}/withdraw"),
    *("POST /submissions/{n}/final", "POST /account/tokens", "POST /account/tokens/{n}/revoke"),
    *("POST /account/password", "POST /account/delete", "POST /logout"),
    *("PUT /api/datasets/{dataset}/uploads", "GET /api/submissions", "GET /api/submissions/{n}"),
    *("POST /api/submissions/{n}/look", "POST /api/submissions/{n}/hand-in", "DELETE /api/submissions/{n}"),
}
ORGANISER = {
    *("GET /organiser", "POST /organiser/links", "POST /organiser/rules", "POST /organiser/apply"),
    *("POST /organiser/submissions/{n}/exclude", "POST /organiser/submissions/{n}/baseline"),
    *("POST /organiser/submissions/{n}/retry", "POST /organiser/close", "GET /organiser/export"),
    *("GET /organiser/backup", "GET /organiser/log", "PUT /api/datasets/{dataset}/truth"),
}


def called(one: Endpoint) -> str:
    return f"{one.method} {one.path.replace('{number}', '{n}')}"


def ask(person: Person, one: Endpoint, number: int = 1) -> Any:
    path = one.path.replace("{number}", str(number)).replace("{dataset}", "MT1").replace("{secret}", "none")
    return person.client.request(one.method, path, headers={"X-CSRF": person.csrf}, follow_redirects=False)


def test_the_table_of_addresses_is_the_one_above() -> None:
    for who, expected in (("public", PUBLIC), ("team", TEAM), ("organiser", ORGANISER)):
        assert {called(one) for one in ENDPOINTS if one.who == who} == expected


def test_who_may_what(tmp_path: Path, quick: None) -> None:
    """Every address as a visitor, as a team and as an organiser."""
    with scene(tmp_path / "b") as here:
        people = {"public": here.visitor(), "team": here.team("Ann"), "organiser": here.organiser()}
        ranks = {name: at for at, name in enumerate(people)}
        for one, (role, person) in itertools.product(ENDPOINTS, people.items()):
            if one.path in ("/logout", "/account/delete", "/organiser/close"):
                continue  # they change who asks, or everything after; below
            answer = ask(person, one)
            refused = answer.status_code in (401, 403) or answer.headers.get("location", "").startswith("/login")
            cell = f"{role}: {called(one)} {answer.status_code}"
            if ranks[role] < ranks[one.who]:
                assert refused, cell
            elif one.path not in ("/login", "/account/password"):  # these refuse an empty password
                assert not refused, cell
        for path in ("/logout", "/account/delete", "/organiser/close"):
            (one,) = [each for each in ENDPOINTS if each.path == path]
            assert ask(here.visitor(), one).status_code in (401, 403)
        (close,) = [each for each in ENDPOINTS if each.path == "/organiser/close"]
        assert ask(people["team"], close).status_code == 403


def test_a_team_can_do_nothing_to_the_submissions_of_another(here: Scene) -> None:
    ann, bob = here.team("Ann"), here.team("Bob")
    number = ann.hand_in(table(result_rows(20)))["id"]
    here.work()
    for one in ENDPOINTS:
        if "{number}" in one.path and one.who == "team" and "tokens" not in one.path:
            assert ask(bob, one, number).status_code == 404, called(one)
    ann.post("/account/tokens", 200, label="mine")
    ask(bob, next(one for one in ENDPOINTS if one.path.endswith("/revoke")), 1)
    with here.board.database.reading() as connection:
        assert connection.execute(sa.select(tokens.c.revoked)).scalar_one() is None
    assert ann.see(number)["withdrawn"] is None


def test_nothing_is_done_on_behalf_of_another_site(here: Scene) -> None:
    ann = here.team("Ann")
    number = ann.hand_in(table(result_rows(20)))["id"]
    path = f"/submissions/{number}/withdraw"
    for headers, form in (
        ({"Origin": "http://evil.example"}, {"csrf": ann.csrf}),
        ({"Origin": "null"}, {"csrf": ann.csrf}),
        ({}, {}),
        ({}, {"csrf": "guess"}),
    ):
        assert ann.client.post(path, data=form, headers=headers).status_code == 403
    del ann.client.headers["origin"]
    assert ann.client.post(path, data={"csrf": ann.csrf}).status_code == 403
    assert ann.see(number)["withdrawn"] is None
    assert here.visitor().client.get("/", headers={"Host": "evil.example"}).status_code == 400


def test_a_login_starts_a_new_session_and_a_logout_ends_it(here: Scene) -> None:
    ann = here.team("Ann")
    before = ann.client.cookies["flatmetric"]
    ann.post("/login", name="ann", password=PASSWORD)
    after = ann.client.cookies["flatmetric"]
    assert before != after
    visitor = here.visitor()
    visitor.client.cookies.set("flatmetric", before)  # a session that somebody else knew
    assert visitor.client.get("/submissions", follow_redirects=False).status_code == 303
    ann.post("/logout")
    visitor.client.cookies.set("flatmetric", after)
    assert visitor.client.get("/submissions", follow_redirects=False).status_code == 303
    with here.board.database.reading() as connection:
        stored = set(connection.execute(sa.select(sessions.c.hash)).scalars())
    assert not stored & {before, after}


def test_a_login_leads_nowhere_else(here: Scene) -> None:
    here.team("Ann")
    for path in ("https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"):
        person = here.visitor()
        answer = person.client.post(
            "/login", data={"name": "Ann", "password": PASSWORD, "next": path}, follow_redirects=False
        )
        assert answer.headers["location"] == "/submissions"


def test_guessing_passwords_has_to_wait(here: Scene) -> None:
    here.team("Ann")
    visitor = here.visitor()
    for _ in range(5):
        visitor.post("/login", 401, name="Ann", password="wrong guess")
    assert "try again in" in visitor.post("/login", 429, name="Ann", password=PASSWORD)
    other = here.visitor()
    answers = [  # many accounts from one address
        other.client.post("/login", data={"name": f"team {k}", "password": "wrong guess"}).status_code
        for k in range(40)
    ]
    # Not always the last: on a slow machine a wait of seconds may be over by then.
    assert 429 not in answers[:20] and 429 in answers[20:]


def test_secrets_are_stored_as_hashes_and_never_logged(here: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    ann = here.team("Ann")
    shown = re.search('<code id="secret">(fm_[^<]+)', ann.post("/account/tokens", 200, label="ci"))
    assert shown is not None
    visitor = here.visitor()
    answer = visitor.client.get("/api/submissions", headers={"Authorization": f"Bearer {shown[1]}"})
    assert answer.status_code == 200
    assert visitor.client.get("/api/submissions", headers={"Authorization": "Bearer fm_wrong"}).status_code == 401
    assert visitor.client.post("/account/tokens", headers={"Authorization": f"Bearer {shown[1]}"}).status_code == 403
    with here.board.database.reading() as connection:
        everything = [connection.execute(sa.select(one)).all() for one in (teams, tokens, sessions, log)]
    secrets = (shown[1], PASSWORD, ann.client.cookies["flatmetric"])
    printed = "".join(capsys.readouterr())
    assert not any(secret in f"{everything}{printed}" for secret in secrets)
    ann.post("/account/tokens/1/revoke")
    assert visitor.client.get("/api/submissions", headers={"Authorization": f"Bearer {shown[1]}"}).status_code == 401


def test_a_link_works_once(here: Scene) -> None:
    organiser, ann = here.organiser(), here.team("Ann")
    found = re.search("/links/([^<]+)", organiser.post("/organiser/links", 200, purpose="password", team="2"))
    assert found is not None
    path = f"/links/{found[1]}"
    here.visitor().post(path, 422, password="short")
    here.visitor().post(path, password="another password")
    here.visitor().post(path, 404, password="a third password")
    assert ann.client.get("/submissions", follow_redirects=False).status_code == 303  # old sessions have ended
    here.visitor().post("/login", name="Ann", password="another password")


NAMES = ["<img src=x onerror=alert(1)>", "'\"><script>alert(1)</script>", "{{ 7 * 7 }}", "javascript:alert(1)"]


def test_no_name_becomes_a_part_of_a_page(here: Scene) -> None:
    organiser = here.organiser()
    for k, name in enumerate(NAMES):
        person = here.team(name)
        person.hand_in(table(result_rows(20, seed=k)), name, name=f"{name}.csv")
        organiser.post(f"/organiser/submissions/{k + 1}/exclude", reason=name) if k == 1 else None
        here.work()
        for path in ("/", "/submissions", f"/submissions/{k + 1}", "/account"):
            page = person.get(path)
            assert "<img src=x" not in page and "<script>alert" not in page and ">49<" not in page
    for path in ("/organiser", "/organiser/log", "/changes"):
        page = organiser.get(path)
        assert "<img src=x" not in page and "<script>alert" not in page
    assert "<img src=x" not in here.visitor().get("/?q=" + NAMES[0])
    for bad in ("\u202eAnn", "", "   ", "x" * 41, "!!"):
        here.visitor().post("/register", 422, name=bad, password=PASSWORD)
    here.visitor().post("/register", 400, name="a\u0000b", password=PASSWORD)


def test_a_name_logs_in_however_it_is_typed(here: Scene) -> None:
    here.team("Two  Words\u00b2")
    for name in ("two words2", "Two  Words\u00b2", "TWO WORDS2"):
        here.visitor().post("/login", name=name, password=PASSWORD)
    here.team("\u00df" * 31)  # longer without case
    here.visitor().post("/register", 409, name="two WORDS2", password=PASSWORD)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Board.Example.org", "board.example.org"),
        ("https://board.example.org:443", "board.example.org"),
        ("http://[::1]:8765", "[::1]:8765"),
        ("http://localhost:8000", "127.0.0.1:8000"),
    ],
)
def test_a_board_is_reached_as_browsers_write_its_address(here: Scene, url: str, host: str) -> None:
    client = TestClient(application(Site(here.board, url, CHEAP)), base_url=url.lower())
    assert client.get("/", headers={"Host": host}).status_code == 200
    assert client.get("/", headers={"Host": "elsewhere.org"}).status_code == 400


def test_nothing_that_was_sent_is_lost_without_a_word(here: Scene) -> None:
    """Fields of an unknown kind, or of an unknown name."""
    ann = here.team("Ann")
    number = ann.upload(table(result_rows(20)))["id"]
    path, token = f"/api/submissions/{number}", {"X-CSRF": ann.csrf}
    for kind, body, status in (
        ("text/plain", '{"program": "mine"}', 415),
        ("application/x-www-form-urlencoded", '{"program": "mine"}', 400),
        ("application/JSON; charset=utf-8", '{"program": "mine"}', 202),
    ):
        answer = ann.client.post(f"{path}/hand-in", content=body, headers=token | {"Content-Type": kind})
        assert answer.status_code == status, (kind, answer.text)
    assert ann.see(number)["program"] == "mine"
    assert "there is no option frame_bas" in ann.upload(table(result_rows(21)), status=422, frame_bas="0")["error"]
    for answer in (ann.client.get("/api/nothing"), ann.client.post("/api/board")):
        assert answer.status_code in (404, 405) and answer.json()["error"]


def test_what_comes_at_the_same_time_is_counted_once(tmp_path: Path, kind: str, quick: None) -> None:
    """Logins of a class, and one name that several want."""
    with scene(tmp_path / "b", kind) as here, ThreadPoolExecutor(6) as pool:
        people = [here.visitor() for _ in range(6)]

        def register(person: Person) -> int:
            form = {"name": "Ann", "password": PASSWORD, "csrf": ""}
            return person.client.post("/register", data=form, follow_redirects=False).status_code

        assert sorted(pool.map(register, people)) == [303, *[409] * 5]
        with here.board.database.writing() as connection:
            connection.execute(failures.delete())

        def login(person: Person) -> int:
            form = {"name": "Ann", "password": PASSWORD, "csrf": person.csrf}
            return person.client.post("/login", data=form, follow_redirects=False).status_code

        assert set(pool.map(login, [here.visitor() for _ in range(5)])) == {303}
        with here.board.database.reading() as connection:
            assert connection.execute(sa.select(sa.func.count()).select_from(teams)).scalar_one() == 1


def test_what_no_browser_sends_is_refused_and_not_a_fault(here: Scene) -> None:
    ann, organiser = here.team("Ann"), here.organiser()
    number = ann.upload(table(result_rows(20)))["id"]
    headers = {"X-CSRF": ann.csrf, "Content-Type": "application/json"}
    for path in (f"/submissions/{'9' * 30}", f"/entries/{'9' * 5000}", "/entries/-1", "/entries/x"):
        answer = ann.client.get(path)
        assert answer.status_code == 404 and "content-security-policy" in answer.headers
    for base in ("--5", "5" * 5000, "1e3"):
        assert ann.client.put(f"/api/datasets/MT1/uploads?frame_base={base}", headers=headers).status_code == 422
    for body in (b'{"program": "\\ud800"}', b'{"program": "\\u0000"}', b"[1]", b"{", b'{"a":' * 40_000, b"\xff"):
        answer = ann.client.post(f"/api/submissions/{number}/hand-in", content=body, headers=headers)
        assert answer.status_code == 400, body[:20]
    organiser.post("/organiser/links", 404, purpose="password", team="999")
    organiser.post("/organiser/links", 422, purpose="password", team="9" * 30)


def test_a_stolen_token_takes_nothing_over(here: Scene) -> None:
    organiser = here.organiser()
    shown = re.search('<code id="secret">(fm_[^<]+)', organiser.post("/account/tokens", 200, label="ci"))
    assert shown is not None
    thief = here.visitor()
    thief.client.headers["Authorization"] = f"Bearer {shown[1]}"
    assert thief.client.post("/organiser/links", data={"purpose": "organiser"}).status_code == 403
    for path in ("/organiser/backup", "/organiser/export?whole=yes", "/account"):
        assert thief.client.get(path).status_code == 403
    assert thief.client.get("/api/submissions").status_code == 200
    organiser.post("/account/password", old=PASSWORD, password="another password")
    assert thief.client.get("/api/submissions").status_code == 401


def test_looking_at_files_has_a_limit(tmp_path: Path, quick: None) -> None:
    rules = RULES.replace("[datasets", "[quota]\nuploads_per_hour = 3\n[datasets")
    with scene(tmp_path / "b", rules=rules) as here:
        ann = here.team("Ann")
        number = ann.upload(table(result_rows(20)))["id"]
        ann.client.delete(f"/api/submissions/{number}", headers={"X-CSRF": ann.csrf})
        number = ann.upload(table(result_rows(20)))["id"]
        ann.post(f"/submissions/{number}/look", unit="nm")
        ann.post(f"/submissions/{number}/look", 429, unit="nm")
        ann.upload(table(result_rows(20)), status=429)


def test_every_answer_has_the_headers_of_a_safe_page(here: Scene) -> None:
    visitor = here.visitor()
    for path in ("/", "/nowhere", "/api/board", "/login", "/entries/9", "/api/submissions"):
        headers = visitor.client.get(path).headers
        policy = headers["content-security-policy"]
        assert (
            "unsafe" not in policy and "default-src 'none'" in policy and headers["x-content-type-options"] == "nosniff"
        )
    for path in ("/", "/login", "/rules"):
        page = visitor.get(path)
        assert not re.search(r"<script>|\son\w+=|style=|hx-on", page), path
    secure = Site(here.board, "https://board.example", CHEAP)
    person = Person(secure)
    answer = person.client.post("/register", data={"name": "Zoe", "password": PASSWORD}, follow_redirects=False)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-flatmetric=")
    assert all(word in cookie for word in ("Secure", "HttpOnly", "SameSite=lax", "Path=/")) and "Domain" not in cookie


@pytest.mark.parametrize(
    "name", ["../../board.toml", "/etc/passwd", "..\\x.csv", "a/b/c.csv", "\u202ecsv.exe", "x" * 999]
)
def test_names_of_files_lead_nowhere(tmp_path: Path, quick: None, name: str) -> None:
    with scene(tmp_path / "b") as here:
        ann = here.team("Ann")
        seen = ann.upload(table(result_rows(20)), name=name)
        assert "/" not in seen["file_name"] and "\\" not in seen["file_name"].replace("\\u202e", "")
        assert len(seen["file_name"]) <= 200
        for dataset in ("..", "%2e%2e", "nowhere"):
            assert ann.client.put(f"/api/datasets/{dataset}/uploads", headers={"X-CSRF": ann.csrf}).status_code in (
                404,
                405,
            )
        for path in (
            "/static/../board.toml",
            "/static/%2e%2e%2fboard.sqlite",
            "/MT1/truth.csv",
            "/server/board.sqlite",
        ):
            assert here.visitor().client.get(path).status_code == 404


def test_an_archive_that_unpacks_to_much_is_refused(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.csv", b"0" * 200_000_000)
    with scene(tmp_path / "b") as here:  # the real child, with its limits
        seen = here.team("Ann").upload(packed.getvalue(), name="bomb.zip")
        assert not seen["valid"] and "refused" in seen["preview"]


def test_the_truth_is_in_no_answer(here: Scene) -> None:
    """A crawl of everything that a visitor and a team can reach, searched for true positions, also rounded."""
    ann = here.team("Ann")
    number = ann.hand_in(table(result_rows(20)))["id"]
    here.work()
    todo, seen = {"/", "/api/board", "/api/submissions", f"/api/submissions/{number}", "/log/head"}, dict[str, str]()
    while todo:
        path = todo.pop()
        seen[path] = ann.client.get(path).text
        links = re.findall(r'(?:href|hx-get|src)="(/[^"#]*)"', seen[path])
        todo |= {link for link in links if link not in seen}
    assert len(seen) > 12
    secret = {
        form
        for position in truth_rows()[:, 1:].ravel()
        for form in (f"{position:.2f}", f"{position:.1f}", f"{position / 100:.3f}")
    }
    for path, text in seen.items():
        if not path.startswith("/static/"):
            numbers = re.findall(r"(?<![\d.])\d+\.\d+(?!\d)", text)  # whole: a longer one may hold a position by chance
            assert secret.isdisjoint(numbers), (path, secret.intersection(numbers))
