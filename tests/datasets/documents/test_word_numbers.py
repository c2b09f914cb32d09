"""Automatic numbers of Word: those to which a text can refer are read; gold may name a heading without one."""

from __future__ import annotations

from file_makers import W, docx_of, paragraph, passages_of


def level(number, style, pattern, *, bound_to=""):
    bound = f'<w:pStyle w:val="{bound_to}"/>' if bound_to else ""
    return (
        f'<w:lvl w:ilvl="{number}"><w:start w:val="1"/><w:numFmt w:val="{style}"/>{bound}'
        f'<w:lvlText w:val="{pattern}"/></w:lvl>'
    )


def numbering(*definitions, overrides=""):
    """Lists 1, 2, … with these levels; `overrides` are further instances."""
    elements = [
        f'<w:abstractNum w:abstractNumId="{number}">{"".join(levels)}</w:abstractNum>'
        for number, levels in enumerate(definitions, 1)
    ]
    elements += [
        f'<w:num w:numId="{number}"><w:abstractNumId w:val="{number}"/></w:num>'
        for number in range(1, len(definitions) + 1)
    ]
    return f'<w:numbering xmlns:w="{W}">{"".join(elements)}{overrides}</w:numbering>'


def item(text, number=0, instance=1):
    place = (
        f'<w:numPr><w:ilvl w:val="{number}"/><w:numId w:val="{instance}"/></w:numPr>'
    )
    return f"<w:p><w:pPr>{place}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


CLAUSES = (
    level(0, "decimal", "%1.", bound_to="H"),
    level(1, "decimal", "%1.%2"),
    level(2, "lowerLetter", "(%3)"),
)
STEPS = (level(0, "decimal", "%1."),)
HEADING = (
    f'<w:styles xmlns:w="{W}"><w:style w:type="paragraph" w:styleId="H"><w:name w:val="heading 1"/>'
    '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style></w:styles>'
)


def test_clauses_have_their_numbers_and_steps_do_not(read):
    body = (
        paragraph("Delivery", "H")
        + item("Ships unload at noon.", 1)
        + item("A late ship pays:", 1)
        + item("a fee;", 2)
        + item("the pilot.", 2)
        + paragraph("Payment", "H")
        + item("Fees are due in May.", 1)
        + item("Moor the ship.", 0, 2)
    )
    documents = read(
        {"a.docx": docx_of(body, numbering=numbering(CLAUSES, STEPS), styles=HEADING)}
    )
    assert [text for _, text in passages_of(documents).values()] == [
        "1. Delivery\n1.1 Ships unload at noon.\n\n1.2 A late ship pays:\n\n(a) a fee;\n\n(b) the pilot.",
        "2. Payment\n2.1 Fees are due in May.\n\nMoor the ship.",
    ]
    assert documents.report.loc[0, "lost"] == 0
    asked = documents.with_questions(
        [{"question": "When are fees due?", "gold": ["a.docx#Payment"]}]
    )
    assert dict(asked.questions[0].gold) == {"a.docx#1": 1}


def test_an_instance_may_begin_again_and_articles_count_in_chinese(read):
    articles = (level(0, "chineseCounting", "第%1条"),)
    again = (
        '<w:num w:numId="9"><w:abstractNumId w:val="1"/><w:lvlOverride w:ilvl="0">'
        '<w:startOverride w:val="11"/></w:lvlOverride></w:num>'
    )
    body = item("船舶靠港。") + item("小艇缴费。") + item("引航员登船。", 0, 9)
    documents = read(
        {"a.docx": docx_of(body, numbering=numbering(articles, overrides=again))}
    )
    [(_, text)] = passages_of(documents).values()
    assert text == "第一条 船舶靠港。\n\n第二条 小艇缴费。\n\n第十一条 引航员登船。"


def test_a_list_without_a_definition_has_no_numbers(read):
    lost = '<w:num w:numId="7"><w:abstractNumId w:val="99"/></w:num>'
    body = item("Ships pay.", 0, 7) + item("Boats pay.", 0, 8)
    parts = numbering(CLAUSES, overrides=lost)
    [(_, text)] = passages_of(read({"a.docx": docx_of(body, numbering=parts)})).values()
    assert text == "Ships pay.\n\nBoats pay."
