"""The pages' markers: what they are filled with, what must hold, and which numbers may be typed."""

from __future__ import annotations

import json
from pathlib import Path

import page_tables
import pages
import pytest
from page_data import Results, UnknownError
from page_files import render
from page_markers import Exceptions, broken, filled, unused
from page_numbers import answer
from page_values import Number

# Recall of two systems over three sets, worked out by hand below: 62.5, 50.0; 80.0, 80.04; one shuffled graph.
SCORES = """system,metric,mean,p_holm,p_best,seed_sd
dense,recall@5,0.5,,,
chains,recall@5,0.625,0.0004,0.01,
walk,recall@5,0.5,0.5,0.9,
path.llm,recall@5,0.64,0.04,0.9,
path.llm-shuffled,recall@5,0.4,0.2,0.9,0.015
"""
OTHER = """system,metric,mean,p_holm,p_best,seed_sd
dense,recall@5,0.8,,,
chains,recall@5,0.8004,1.0,0.6,
"""
ABLATION = """set,metric,changed,mean,difference,low,high,p_holm
one,recall@5,,0.9,0.0,0.0,0.0,
one,recall@5,no walk,0.8,-0.1,-0.2,-0.05,0.01
one,recall@5,no beam,0.9,0.0,0.0,0.0,1.0
one,recall@5,no names,0.87,-0.03,-0.05,-0.01,0.04
two,recall@5,no walk,0.9,0.004,-0.01,0.01,1.0
two,recall@5,no beam,0.9,-0.002,-0.01,0.01,1.0
one,mrr@10,no walk,0.1,-0.9,-0.9,-0.9,0.01
"""
FLOORS = "set,floor,wins,losses\none,whole,,\none,1e-05,2,0\ntwo,1e-05,1,4\n"
REACH = "cause,gold,not_found,below\nnamed,9,1,2\npart,4,0,1\nall,13,1,3\n"
HOPS = "hops,system,n,recall@5\n2,dense,1500,0.25\n2,chains,1500,0.75\n3,dense,4,0.5\n"
TIMINGS = '[batch]\nunit = "ms"\ncommand = "bench"\nvalues = { slow = 12.5, fast = 0.2, "one query" = 1200 }\n'
SINGLE = """[sweep]
values = { tried = 61, dev = 81.3, test = 72.7, "default dev" = 80.0, "default test" = 69.7, p = 0.25 }
[surer.values]
tried = 2
dev = 1.5
test = 1.0
"default dev" = 2.5
"default test" = 3.0
"""
LEDGER = """baseline = "Base"
[sets.known]
name = "Known, all"
questions = 1000
[[published]]
system = "A System"
values.known = { "recall@5" = 74.7 }
"""
# Of 1000 questions 800 are at hand; the baseline's run is the one that is primary, not the first nor the last.
REPRODUCED = """ledger,published,set,metric,theirs,ours,questions,tolerance,verdict,system,primary
paper,Base,"Known, all",recall@5,70.7,49.0,800,,sensitivity,long,False
paper,Base,"Known, all",recall@5,70.7,50.0,800,0.5,off,dense,True
paper,A System,"Known, all",recall@5,74.7,51.0,800,0.5,off,"walk, two hops",True
paper,Base,"Known, all",mrr@10,80.0,,,,not run,,False
"""
MEASURED = [
    {"label": "before", "passages": 1000, "kind": "system", "name": "bm25", "step": "query", "batch_ms_cpu": 9.0},
    {"label": "now", "passages": 1000, "kind": "system", "name": "bm25", "step": "query", "batch_ms_cpu": 0.4},
    {"label": "now", "passages": 10000, "kind": "system", "name": "bm25", "step": "query", "batch_ms_cpu": 1234.5},
]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A few committed files."""
    lines = "\n".join(json.dumps({"triples": 3, "encoder": "hashing", "load": 1.25} | line) for line in MEASURED)
    files = {
        "results/one/scores.csv": SCORES,
        "results/two/scores.csv": OTHER,
        "results/ablation.csv": ABLATION,
        "results/hops.csv": HOPS,
        "results/floors.csv": FLOORS,
        "results/reach-known.csv": REACH,
        "results/sets.csv": "set,questions,passages\nmusique-100,100,1890\ncosqa-500,499,6259\n",
        "results/timings.toml": TIMINGS,
        "results/measured.toml": SINGLE,
        "results/scale/measurements.jsonl": lines,
        "results/ledger.csv": REPRODUCED,
        "ledger/paper.toml": LEDGER,
        "coefficients/fit.toml": "[fitted]\ngroups = 882\nshare = 0.7661\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return Results(tmp_path)


def shown(results: Results, text: str) -> str:
    found = answer(results, text)
    return found.text if isinstance(found, Number) else found


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("mean one chains recall@5", "62.5"),
        ("mean one,two dense recall@5", "50.0 to 80.0"),
        ("gap one chains dense recall@5", "12.5"),
        ("gap one walk dense recall@5", "0.0"),
        ("against one chains dense recall@5", "12.5 points above"),
        ("against one dense chains recall@5", "12.5 points below"),
        ("against two chains dense recall@5", "level with"),  # by .04 points, which a tenth does not show
        ("p one chains recall@5", "< .001"),
        ("p one walk recall@5", ".500"),
        ("verdict one chains recall@5", "significantly"),
        ("verdict one walk recall@5", "not significantly"),
        ("bold one recall@5", "1"),
        ("bold two recall@5", "0"),
        ("worth one path llm", "24.0 ± 1.5"),
        ("worths one llm", "`path` 24.0 ± 1.5"),
        ("placebos one path", "40.0"),
        ("size cosqa-500 passages", "6,259"),
        (
            "sizes musique-100 cosqa-500",
            "MuSiQue: 100 questions, 1,890 passages. CoSQA: 499 questions, 6,259 passages.",
        ),
        ("count hops n hops=2 system=dense", "1,500"),
        ("share hops recall@5 hops=2 system=dense", "25.0"),
        ("ranking hops recall@5 hops=2", "`chains` 75.0, `dense` 25.0"),
        ("moved 1e-05", "7"),
        ("missed known named,part", "4"),
        ("change one no walk", "-10.0"),
        ("change one,two no walk", "-10.0 to +0.4"),
        ("change one no beam", "0.0"),
        ("significant one,two no walk", "1"),
        ("losses one", "`no walk` 10.0 and `no names` 3.0"),
        ("losses two", "nothing"),
        ("scale batch_ms_cpu 1000 bm25", "0.400"),
        ("loads system", "1.2"),
        ("timing batch one query", "1,200"),
        ("timings batch", "`fast` 0.2, `slow` 12.5, `one query` 1,200"),
        ("measured sweep default dev", "80.0"),
        ("sweep sweep", "best of 61: 81.3 on dev, 72.7 on test; defaults 80.0 and 69.7 (p = .25)"),
        ("sweep surer", "best of 2: 1.5 on dev, 1.0 on test; defaults 2.5 and 3.0"),
        ("fitted fit fitted.groups", "882"),
        ("fitted_share fit fitted.share", "77"),
        ("published paper known recall@5 A System", "74.7"),
        ("published_size paper known questions", "1,000"),
        ("fewer musique-100 paper known", "900"),
        ("judged off", "2"),
        ("judged not run", "1"),
        ("judged ok", "0"),
        ("over_all 0 paper known recall@5 dense", "40.0"),  # 800 * 50 / 1000
        ("over_all 100 paper known recall@5 walk, two hops", "60.8"),  # (800 * 51 + 200 * 100) / 1000
        ("away paper known recall@5 dense A System", "24.7"),
        ("tolerances paper known recall@5 dense A System", "49.4"),  # 24.7 / 0.5
        ("gain paper known recall@5 walk, two hops", "+1.0"),
        ("gain paper known recall@5 long", "-1.0"),
        ("effect paper known recall@5 walk, two hops", "0.25"),  # 1 of 4 points
    ],
)
def test_a_query_gives_what_the_files_have(results: Results, asked: str, expected: str) -> None:
    assert shown(results, asked) == expected


def test_what_weights_a_table_of_them_has_and_lacks(results: Results) -> None:
    both = {"musique-100": "graph,0.858,0.024\nbest,0.883,0.0\n", "hotpotqa-300": "graph,0.9,0.1\nrules,0.95,0.05\n"}
    for name, rows in both.items():
        text = f"weights,recall@5,regret\n{rows}"
        (results.root / "results" / f"weights-walk-{name}.csv").write_text(text, encoding="utf-8")
    assert page_tables.weights(results, "walk").splitlines()[2:] == [
        "| graph alone (`walk`) | 85.8 | 2.4 | 90.0 | 10.0 |",
        "| rules | – | – | 95.0 | 5.0 |",
        "| best per question, by the gold | 88.3 | 0.0 | – | – |",
    ]


def test_a_band_without_questions_has_no_row(results: Results) -> None:
    text = "hops,low,high,number,dense,alone,chains\nseveral,0,1,0,,,\nsingle,2,3,87,0.5,0.625,1.0\n"
    (results.root / "results" / "kinds.csv").write_text(text, encoding="utf-8")
    assert page_tables.kinds(results).splitlines()[2:] == ["| a single hop | 2–3 | 87 | 50.0 | 62.5 | 100.0 |"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("median one dense recall@5", "Unknown query 'median'. Known: across, against, away, bold,"),
        ("mean none dense recall@5", "Unknown folder 'none'. Known: one, two."),
        ("mean two walk recall@5", "Unknown system of two 'walk'. Known: chains, dense."),
        ("mean two dense recall@6", "Unknown metric of two 'recall@6'. Known: recall@5."),
        ("mean two dense", "mean needs: folders system metric. Given: two dense."),
        ("mean two dense recall@5 more", "mean needs: folders system metric."),
        ("change one", "change needs: names changed …. Given: one."),
        (
            "gap one dense chains recall@5",
            "dense is not above chains by recall@5 in one: say the sentence the other way.",
        ),
        ("p one dense recall@5", "it is the baseline"),
        ("change one no sleep", "Unknown change of ablation.csv 'no sleep'. Known: no beam, no names, no walk."),
        ("count hops m hops=2 system=dense", "Unknown column of hops.csv 'm'. Known: hops, n, recall@5, system."),
        ("count hops n hops=2", "2 rows of hops.csv have"),
        ("count hops n hops=9 system=dense", "Unknown hops of hops.csv '9'. Known: 2, 3."),
        ("count hops n 2", "A row is named by column=value"),
        (
            "count kinds n hops=2",
            "Unknown file of eval/results 'kinds'. Known: ablation, floors, hops, ledger, reach-known, sets.",
        ),
        ("timing batch medium", "Unknown key of results/timings.toml 'medium'."),
        ("fitted gone a.b", "Unknown file of eval 'coefficients/gone'."),
        ("scale batch_ms_cpu 77 bm25", "Unknown size of 'bm25' '77'. Known: 1000, 10000."),
        ("scale seconds_cpu 1000 bm25", "Unknown cost 'seconds_cpu'."),
        ("published paper known recall@5 B", "Unknown system of ledger paper 'B'. Known: A System."),
        ("judged fine", "Unknown verdict 'fine'. Known: close, differs, not comparable, not run, off, ok,"),
        ("gain paper known recall@5 bm25", "Unknown system of ledger.csv 'bm25'. Known: dense, long, walk, two hops."),
        ("gain paper gone recall@5 dense", "Unknown key of ledger/paper.toml 'gone'. Known: known."),
        ("tolerances paper known recall@5 long A System", "ledger.csv has no tolerance in the row of"),
        ("effect paper known recall@5 long", "paper prints no gain for long by recall@5"),
    ],
)
def test_what_is_not_there_is_named_with_what_there_is(results: Results, asked: str, message: str) -> None:
    with pytest.raises(UnknownError) as caught:
        answer(results, asked)
    assert message in str(caught.value)


def config(folder: Path, *dtypes: str) -> None:
    encoders = [{"encoder": {"encoder": "SentenceEncoder()", "dtype": dtype}} for dtype in dtypes]
    (folder / "config.json").write_text(json.dumps({"knowledge": [{"systems": ["bm25"]}, *encoders]}))


def test_the_kind_of_vectors_is_said_where_configurations_are_committed(results: Results) -> None:
    folder = results.root / "results"
    assert shown(results, "vectors all") == ""
    config(folder / "one", "float32")
    expected = "The vectors of these tables are float32 (without 1, whose configurations are not committed)."
    assert shown(results, "vectors all") == expected
    assert shown(results, "vectors one") == "The vectors of these tables are float32."
    config(folder / "two", "bfloat16")
    assert shown(results, "vectors all") == "The vectors are bfloat16 in two; float32 in one."


def test_a_marker_is_filled_and_the_rest_is_left_alone(results: Results) -> None:
    page = filled("It has <!-- = mean one chains recall@5 -->99.9<!-- / --> here.\n", "page.md", results)
    assert page.text == "It has <!-- = mean one chains recall@5 -->62.5<!-- / --> here.\n"
    assert page.problems == []
    again = filled(page.text, "page.md", results)
    assert again.text == page.text


def test_a_changed_file_changes_the_page(results: Results) -> None:
    text = "It has <!-- = mean one chains recall@5 -->62.5<!-- / -->."
    assert filled(text, "page.md", results).text == text
    file = results.root / "results" / "one" / "scores.csv"
    file.write_text(file.read_text().replace("0.625", "0.626"))
    assert "-->62.6<!--" in filled(text, "page.md", Results(results.root)).text


def test_a_table_stands_on_lines_of_its_own(results: Results) -> None:
    page = filled("<!-- odd x y -->\nold\n<!-- / -->\n", "page.md", results, {"odd": lambda word: f"| {word} |\n"})
    assert page.text == "<!-- odd x y -->\n| x y |\n<!-- / -->\n"


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("mean one chains recall@5 > mean one dense recall@5", ""),
        ("mean one chains recall@5 > 62.4", ""),
        ("p one chains recall@5 < .05", ""),
        ("count hops n hops=2 system=dense = 1,500", ""),
        ("mean two chains recall@5 = mean two dense recall@5", ""),  # both show 80.0
        ("mean one dense recall@5 > mean one chains recall@5", "does not hold: 50.0 > 62.5. Mend the prose."),
        ("mean one dense recall@5 > mean one walk recall@5", "does not hold: 50.0 > 50.0. Mend the prose."),
        # Every member of a range counts: 50.0 is not above 60, 80.0 not below 70.
        ("mean one,two dense recall@5 > 60", "does not hold: 50.0 to 80.0 > 60. Mend the prose."),
        ("mean one,two dense recall@5 < 70", "does not hold: 50.0 to 80.0 < 70. Mend the prose."),
        ("mean one chains recall@5", "is no statement: it needs one of < > = between two queries or numbers."),
        ("verdict one walk recall@5 > 3", "'verdict one walk recall@5' gives words, which cannot be compared."),
        ("mean one nobody recall@5 > 3", "Unknown system of one 'nobody'."),
    ],
)
def test_a_statement_holds_or_says_why_not(results: Results, statement: str, problem: str) -> None:
    assert broken(statement, results).startswith(problem)
    assert bool(broken(statement, results)) == bool(problem)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a\nb <!-- holds: mean one walk recall@5 > 50 -->\n", 2, "does not hold"),
        ("a\nb\nc <!-- = mean no dense recall@5 -->1<!-- / -->\n", 3, "Unknown folder 'no'"),
        ("a <!-- = mean one dense recall@5 -->1\n", 1, "is not closed by <!-- / -->"),
        ("a <!-- = mean one dense recall@5 -->1 <!-- typed: b -->2<!-- / -->\n", 1, "markers do not nest"),
        ("a <!-- / -->\n", 1, "closes nothing"),
        ("a <!-- =mean one dense recall@5 -->1\n", 1, "is no marker. Known: =, holds:, typed:, /"),
        ("a <!-- typed: by kg2rag verify --across -->99<!-- / -->\n", 1, "has two hyphens within"),
        ("a <!-- typed: -->99<!-- / -->\n", 1, "gives no reason"),
        ("<!-- = mean one dense recall@5 -->1<!-- / --> it has\n", 1, "begins a line"),
        ("a\n<!-- holds: 1 < 2 -->\nb\n", 2, "cuts a paragraph in two"),
    ],
)
def test_what_is_wrong_names_the_page_the_line_and_the_marker(
    results: Results, text: str, line: int, problem: str
) -> None:
    found = filled(text, "docs/page.md", results).problems
    assert any(each.startswith(f"docs/page.md, line {line}: <!--") and problem in each for each in found), found


def test_statements_may_stand_behind_a_paragraph(results: Results) -> None:
    assert filled("a\n<!-- holds: 1 < 2 -->\n<!-- holds: 3 > 2 -->\n\nb\n", "page.md", results).problems == []


def typed(results: Results, text: str, exceptions: Exceptions | None = None) -> list[str]:
    problems = filled(text, "page.md", results, {"odd": str}, exceptions or Exceptions()).problems
    assert all(each.endswith(" is typed by hand.") for each in problems)
    return [each.removeprefix("page.md, ").removesuffix(" is typed by hand.") for each in problems]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("it has 62.5 points", ["62.5"]),
        ("from -0.5 to +0.7", ["0.5", "0.7"]),
        ("5 % of it, p = .25", ["5 %", ".25"]),
        ("21 questions, 1,890 passages, 4e-13", ["21", "1,890", "4e-13"]),
        ("20 questions in 3 sets", []),
        ("BM25, musique-100, 2WikiMultihopQA, Qwen2.5-7B, GPT-3.5, recall@50, 10⁵, AVX-512", []),
        ("`k1 = 0.9`, [pages](page.md#99-pages)", []),
        ("a\n\n| 62.5 | 99 |\n", []),
        ("```sh\nsleep 62.5\n<!-- no marker -->\n```\n", []),
        ("it has <!-- = mean one dense recall@5 -->50.0<!-- / --> points", []),
        ("it has <!-- typed: of the paper -->61.9<!-- / --> points", []),
        ("<!-- odd -->\n62.5\n<!-- / -->\n", []),
    ],
)
def test_numbers_of_prose_must_not_be_typed(results: Results, text: str, numbers: list[str]) -> None:
    assert typed(results, text) == [f"line 1: {number!r}" for number in numbers]


def test_a_typed_number_is_named_with_its_line(results: Results) -> None:
    text = "a <!-- = mean one dense recall@5 -->50.0<!-- / -->\n\n```sh\n99\n```\nb 98\n"
    assert typed(results, text) == ["line 6: '98'"]


def test_a_phrase_or_a_paragraph_may_be_excused_and_no_more(results: Results) -> None:
    text = "by 95 %\nand 95\n% or 95.5 %\n\n**Old.** It has 61.9\nand 65.3.\n\nIt has 61.9.\n"
    excused = Exceptions(phrases=("95 %",), paragraphs=("**Old.**",))
    assert typed(results, text, excused) == ["line 3: '95.5 %'", "line 8: '61.9'"]


def test_an_exception_that_nothing_needs_is_named(results: Results) -> None:
    given = Exceptions(phrases=("95 %", "96 %"), paragraphs=("Gone",))
    page = filled("by 95 %", "page.md", results, {}, given)
    assert unused(given, [page]) == [
        "typed.toml: no page needs '96 %'. Remove it.",
        "typed.toml: no page needs 'Gone'. Remove it.",
    ]


def test_an_exception_needs_a_reason() -> None:
    assert Exceptions.of({"phrase": [{"text": "95 %", "why": "a level"}]}) == Exceptions(("95 %",), ())
    with pytest.raises(ValueError, match="a phrase needs text and why"):
        Exceptions.of({"phrase": [{"text": "95 %"}]})
    with pytest.raises(ValueError, match="a paragraph needs starts and why"):
        Exceptions.of({"paragraph": [{"starts": "A", "why": " "}]})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("It has <!-- = mean one chains recall@5 -->62.5<!-- / -->.\n", None),
        (
            "It has <!-- = mean one chains recall@5 -->62.6<!-- / -->.\n",
            "README.md: a value is not that of eval/results.",
        ),
        ("It has <!-- holds: mean one dense recall@5 > 60 -->.\n", "does not hold: 50.0 > 60."),
        ("It has 62.5.\n", "README.md, line 1: '62.5' is typed by hand."),
    ],
)
def test_a_check_fails_at_a_changed_an_untrue_and_a_typed_number(
    results: Results, tmp_path: Path, text: str, problem: str | None
) -> None:
    (tmp_path / "README.md").write_text(text, encoding="utf-8")
    found = pages.problems(pages.rendered(tmp_path, results, {}, Exceptions()), Exceptions())
    assert len(found) == (problem is not None)
    assert problem is None or problem in found[0]


def test_of_a_notebook_only_the_prose_is_touched(results: Results, tmp_path: Path) -> None:
    marker = "<!-- = mean one chains recall@5 -->"
    cells = [
        {"cell_type": "code", "source": [f"print('{marker}1')"], "outputs": [{"text": ["é 62.7"]}]},
        {"cell_type": "markdown", "source": ["# A\n", f"It has {marker}1<!-- / -->."]},
        {"cell_type": "markdown", "source": ["a <!-- holds: 1 > 2 -->"]},
    ]
    file = tmp_path / "book.ipynb"
    file.write_text(json.dumps({"cells": cells}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page = render(file, "book.ipynb", results, {})
    assert page.text == file.read_text(encoding="utf-8").replace(">1<", ">62.5<")
    assert page.problems == [
        "book.ipynb, cell 2, line 1: <!-- holds: 1 > 2 --> does not hold: 1 > 2. Mend the prose.",
    ]
