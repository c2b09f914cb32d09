"""What can be true in the invented world, and how it is said: relations, sentences about them, questions about them.

In a sentence, {x} is whom the passage is about ("The cartographer") and {y} what the fact names. A relation leads from
one thing to exactly one other, so that a chain of relations has exactly one answer.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Relation:
    """One relation.

    Attributes
    ----------
    name : as triples write it.
    tail : the kind of thing it leads to.
    sentences : ways to state it, with {x} and {y}.
    phrases : ways to name its end by its beginning, with {x}: "the author of {x}".
    questions : ways to ask for its end, with {x}.
    """

    name: str
    tail: str
    sentences: tuple[str, ...]
    phrases: tuple[str, ...]
    questions: tuple[str, ...]


RELATIONS: dict[str, tuple[Relation, ...]] = {
    "person": (
        Relation(
            "born in",
            "town",
            (
                "{x} was born in {y}.",
                "{x} came from {y}.",
                "The birth register of {y} lists {x} in its oldest volume.",
                "{x} spent the first years of life in {y}, the place of birth.",
                "{y} was the birthplace.",
                "Born in {y} to a family of ropemakers, {x} left early.",
            ),
            ("the birthplace of {x}", "the town where {x} was born"),
            ("In which town was {x} born?", "What is the birthplace of {x}?", "Where was {x} born?"),
        ),
        Relation(
            "taught by",
            "person",
            (
                "{x} was taught by {y}.",
                "{x} learned the trade from {y}.",
                "{y} was the only teacher {x} ever named.",
                "For nine years {x} studied under {y}.",
                "{x} owed every method to {y}, the teacher.",
                "An apprenticeship with {y} lasted four winters.",
            ),
            ("the teacher of {x}", "the person who taught {x}"),
            ("Who taught {x}?", "Under whom did {x} study?", "Who was the teacher of {x}?"),
        ),
        Relation(
            "member of",
            "organisation",
            (
                "{x} joined {y}.",
                "{x} was a member of {y}.",
                "The rolls of {y} carry {x} for thirty years.",
                "{y} admitted {x} by a single vote.",
                "Dues were paid to {y} until the end.",
                "{x} belonged to {y} and rarely missed a meeting.",
            ),
            ("the organisation that {x} joined", "the organisation of which {x} was a member"),
            ("Which organisation did {x} join?", "Of which organisation was {x} a member?"),
        ),
    ),
    "work": (
        Relation(
            "written by",
            "person",
            (
                "{x} was written by {y}.",
                "Its author is {y}.",
                "{y} wrote {x} in eleven months.",
                "The manuscript is in the hand of {y}, who wrote it.",
                "{x} is the work of {y}.",
                "{y} finished writing {x} after two false starts.",
            ),
            ("the author of {x}", "the person who wrote {x}"),
            ("Who wrote {x}?", "Who is the author of {x}?"),
        ),
        Relation(
            "set in",
            "town",
            (
                "{x} is set in {y}.",
                "The story takes place in {y}.",
                "Every chapter plays out in {y}.",
                "Readers walk the streets of {y} with its heroine.",
                "Its setting is {y} during a long thaw.",
                "All of {x} happens within the walls of {y}.",
            ),
            ("the town in which {x} is set", "the setting of {x}"),
            ("In which town is {x} set?", "Where does {x} take place?"),
        ),
        Relation(
            "published by",
            "organisation",
            (
                "{x} was published by {y}.",
                "{y} printed {x} at its own expense.",
                "Its publisher was {y}.",
                "{y} brought out the first edition.",
                "The imprint on the title page is that of {y}.",
                "{x} appeared with {y}, which had refused it once.",
            ),
            ("the publisher of {x}", "the organisation that published {x}"),
            ("Who published {x}?", "Which organisation published {x}?"),
        ),
    ),
    "organisation": (
        Relation(
            "founded by",
            "person",
            (
                "{x} was founded by {y}.",
                "{y} founded {x} with borrowed money.",
                "Its founder, {y}, wrote the first statutes.",
                "The founding charter bears the name of {y}.",
                "{x} goes back to {y}, who set it up.",
                "It was {y} who called {x} into being.",
            ),
            ("the founder of {x}", "the person who founded {x}"),
            ("Who founded {x}?", "Who is the founder of {x}?"),
        ),
        Relation(
            "seated in",
            "town",
            (
                "{x} has its seat in {y}.",
                "Its headquarters stand in {y}.",
                "{x} is based in {y}.",
                "From a narrow house in {y} it runs all its affairs.",
                "{y} has been its seat from the start.",
                "Meetings of {x} are held at its seat in {y}.",
            ),
            ("the town where {x} has its seat", "the seat of {x}"),
            ("In which town does {x} have its seat?", "Where is {x} based?"),
        ),
    ),
    "town": (
        Relation(
            "lies in",
            "region",
            (
                "{x} lies in {y}.",
                "{x} is to be found in {y}.",
                "It belongs to {y}.",
                "Maps place {x} in {y}.",
                "{y} is the region around it.",
                "Taxes go to {y}, in which {x} lies.",
            ),
            ("the region of {x}", "the region in which {x} lies"),
            ("In which region does {x} lie?", "To which region does {x} belong?"),
        ),
        Relation(
            "first governed by",
            "person",
            (
                "Its first governor was {y}.",
                "{y} was the first to govern {x}.",
                "{x} was first governed by {y}.",
                "The council chose {y} as the first governor.",
                "The long list of governors begins with {y}.",
                "{y} governed {x} before anyone else did.",
            ),
            ("the first governor of {x}", "the person who first governed {x}"),
            ("Who was the first governor of {x}?", "Who first governed {x}?"),
        ),
    ),
    "region": (
        Relation(
            "administered from",
            "town",
            (
                "{x} is administered from {y}.",
                "Its capital is {y}.",
                "The offices of {x} are in {y}, the capital.",
                "{y} serves as its capital.",
                "All decrees for {x} are sealed in {y}, its capital.",
                "The capital was moved to {y} and has stayed there.",
            ),
            ("the capital of {x}",),
            ("What is the capital of {x}?", "From which town is {x} administered?"),
        ),
        Relation(
            "first mapped by",
            "person",
            (
                "{x} was first mapped by {y}.",
                "{y} drew the first map of {x}.",
                "The oldest map of it is by {y}.",
                "{y} was the first to survey and map {x}.",
                "No map of {x} is older than that of {y}.",
                "It was first mapped by {y}, on foot.",
            ),
            ("the person who first mapped {x}", "the first mapmaker of {x}"),
            ("Who first mapped {x}?", "Who drew the first map of {x}?"),
        ),
    ),
}

ROLES: dict[str, tuple[str, ...]] = {
    "person": tuple("cartographer glassblower physician chronicler engraver navigator composer surveyor".split()),
    "work": ("novel", "chronicle", "play", "travel book", "collection of tales"),
    "town": ("market town", "harbour", "mining town", "hill town", "ferry town"),
    "organisation": ("body of scholars", "trading house", "charity", "association", "learned society"),
    "region": ("highland", "river country", "moorland", "borderland", "forest country"),
}

OPENINGS = (
    "{name}{aka} is remembered as {role}.",
    "{name}{aka} was, by all accounts, {role} like no other.",
    "Few have not heard of {name}{aka}, {role}.",
    "{name}{aka} is {role} that older sources describe at length.",
)
AKAS = (", also known as {alias},", " (also called {alias})", ", which many call {alias},")

FILLERS = (
    "Records of it fill {n} boxes.",
    "A festival in the month of {m} keeps the memory alive.",
    "An inventory counts {n} candlesticks, most of them pewter.",
    "Visitors are advised to come before {m}.",
    "A dispute over {n} barrels of salt is still told.",
    "There are {n} letters, none of them dated.",
    "The weather of that year was noted day by day until {m}.",
    "Of the early accounts, {n} were lost in a fire.",
    "Nothing is known of the month of {m}.",
    "Critics counted {n} errors and printed them all.",
    "A bell was cast and weighed {n} stone.",
    "The accounts close in {m} with a small surplus.",
)
MONTHS = "Thawmonth Seedmonth Reedmonth Hayfall Emberwane Frostmonth".split()

NOTICES = (
    "{a} and {b} are named together in a quarrel about {c}; the outcome is not recorded.",
    "A traveller who asked after {a} was told of {b} instead, and nobody mentioned {c}.",
    "The notice praises {a}, passes over {b} and forgets {c}.",
    "It was proposed to honour {a}, {b} and {c} with one plaque; the motion failed.",
    "A ballad of the time rhymes {a} with {b}, to the annoyance of {c}.",
    "Three names were drawn by lot: {a}, {b}, {c}.",
)
