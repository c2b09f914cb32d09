"""Names of columns and attributes in other tools -> the fields that are read here.

Case and separators are ignored: "Edge Label", "edge_label" and ":EdgeLabel" are one name. So are the
types that Neo4j adds, as in "age:int" and ":START_ID(Person)". The synonyms are those of
pandas, networkx, Gephi, yEd, Cytoscape, Pajek, Neo4j (APOC, browser and admin import), Neptune,
KGTK, KGX, PrimeKG, Wikidata's SPARQL, Graphiti, MCP's memory, LangChain, LlamaIndex, GraphRAG and
LightRAG, and the words of other languages. Ours: the order in which they count, from the most to the least specific.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_NAMES = """
head: headname headlabel headtext headentity subjectname subjecttext subjectlabel sourcename sourcelabel sourceentity
    srcentity node1label fromname fromentity slabel itemlabel startname
    xname head subject subj sub source src from start startnode node1
    entity1 arg1 e1 concept1 term1 item1 sourcenode fromnode startentity origin parent h s u subjectid headid srcid
    sourceid fromid startid startnodeid startnodeelementid sourcenodeuuid outv
    subjekt sujet entité1 sujeto entidad1 entidade1 sujeito soggetto onderwerp podmiot субъект подлежащее сущность1
    суб'єкт subiect özne υποκείμενο startknoten quelle origen origem źródło источник
    头实体 主语 主体 实体1 起点 源节点 源实体 頭實體 主詞 實體1
    主語 エンティティ1 始点 주어 개체1 주체 ประธาน الفاعل المبتدأ נושא विषय कर्ता
tail: tailname taillabel tailtext tailentity objectname objecttext objectlabel targetname targetlabel targetentity
    tgtentity node2label toname toentity olabel valuelabel endname
    yname tail object obj target tgt to end endnode node2 entity2 arg2 e2 concept2 term2 item2 dst dest destination
    targetnode tonode endentity child t o v objectid tailid tgtid targetid dstid toid endid endnodeid endnodeelementid
    targetnodeuuid inv
    objekt objet entité2 objeto entidad2 entidade2 oggetto voorwerp obiekt dopełnienie объект дополнение сущность2
    об'єкт obiect nesne αντικείμενο endknoten zielknoten ziel cible destino cel цель
    尾实体 宾语 客体 实体2 终点 目标节点 目标实体 尾實體 受詞 賓語 實體2
    目的語 エンティティ2 終点 목적어 개체2 객체 กรรม المفعول الخبر נשוא कर्म
relation: labellabel plabel proplabel propertylabel predicatelabel predicatename relationlabel displayrelation predicate
    pred relation relationship
    rel relationtype relationshiptype reltype relationname relationshipname relname edgelabel edgetype property
    interaction sharedinteraction verb beziehung prädikat relación relacion predicado relação relacao relazione
    predicato prédicat relatie gezegde relacja orzeczenie vztah отношение связь предикат сказуемое відношення зв'язок
    ilişki yüklem σχέση 关系 谓语 谓词 關係 謂詞 述語 関係 서술어 관계 ความสัมพันธ์ العلاقة علاقة יחס संबंध सम्बन्ध
    r p l label labels type types typer name keywords title link edge
passage_id: passageid chunkid passage chunk textunitid
strength: strength
weight: weight weights edgeweight combinedscore stringdbscore score gewicht poids peso waga вес 权重 權重 重み 가중치
confidence: confidencescore confidence llmconfidence
head_type: headtype subjecttype subjtype sourcetype fromtype xtype 头实体类型 主语类型 实体1类型
tail_type: tailtype objecttype objtype targettype totype ytype 尾实体类型 宾语类型 实体2类型
head_id: headid subjectid subjid sourceid fromid startid
tail_id: tailid objectid objid targetid toid endid
description: description relationdescription relationshipdescription edgedescription fact
node_key: id identity key nodeid entityid elementid uuid name entityname text
element_id: elementid
name: name fullname displayname sharedname entityname canonicalname preflabel prefname
    nom nombre nome naam nazwa имя название назва 名称 名稱 名前 이름 اسم
caption: label nodelabel title caption lbl
id: entityid entity id
node_type: type entitytype nodetype labels category class kind tipo typ тип 类型 類型 タイプ 유형 نوع
node_description: description entitydescription desc summary definition observations
"""
GENERAL_RELATIONS = frozenset({"RELATES_TO", "RELATED_TO"})
"""Types of Neo4j's relationships that say nothing; Graphiti's name beside them does ("WORKS_AT")."""
_SEPARATOR = re.compile(r"[\W_]+")
FIELDS: Mapping[str, tuple[str, ...]] = {
    field: tuple(_SEPARATOR.sub("", name) for name in names.split())
    for field, names in re.findall(r"^(\w+): (.*(?:\n .*)*)", _NAMES, re.MULTILINE)
}
"""Field -> its names, folded; of several that a record has, the first counts."""
DIRECTIONS = frozenset(
    {
        "directed",
        "undirected",
        "mutual",
        "orienté",
        "non orienté",
        "dirigé",
        "non dirigé",
        "gerichtet",
        "ungerichtet",
    }
)
"""What the column "Type" of Gephi's edges holds: it names no relation."""
_NEO4J_ROLE = re.compile(r".*:(ID|START_ID|END_ID|LABEL|TYPE)(?:\(.*\))?")
_COLUMN_TYPE = re.compile(
    r"(?<=.):(?:string|int|integer|long|float|double|boolean|date|id|label)(?:\[\]|\(\w+\))?",
    re.IGNORECASE,
)


def folded(name: object) -> str:
    """A name in lower case without separators and types.

    >>> [folded(name) for name in ("Edge Label", "relationType", "person:START_ID(Person)", "born:int")]
    ['edgelabel', 'relationtype', 'startid', 'born']
    """
    text = str(name)
    role = _NEO4J_ROLE.fullmatch(text)
    text = role[1] if role else _COLUMN_TYPE.sub("", text)
    if text == "~label" or (role and role[1] == "LABEL"):
        text = "labels"  # of Neo4j and Neptune: the types of a node, not its name
    return _SEPARATOR.sub("", text).casefold()


@lru_cache(maxsize=1_000)
def columns_of(field: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns of a field, the most specific first.

    Of two columns that fold to one name, the first counts.

    >>> columns_of("head", ("Source", "Target", "subject")), columns_of("head", ("Quelle", "Subjekt"))
    (('subject', 'Source'), ('Subjekt', 'Quelle'))
    """
    by_name: dict[str, str] = {}
    for column in columns:
        by_name.setdefault(folded(column), column)
    return tuple(by_name[name] for name in FIELDS[field] if name in by_name)


def columns_with(field: str, record: Mapping[Any, Any]) -> dict[str, Any]:
    """The columns of a record for a field with their values, without blanks, by specificity.

    >>> columns_with("name", {"fullName": "Ida Berg", "name": " ", "label": "Person"})
    {'fullName': 'Ida Berg'}
    """
    columns = columns_of(
        field, tuple(column for column in record if isinstance(column, str))
    )
    return {
        column: record[column] for column in columns if not _is_blank(record[column])
    }


def values_of(field: str, record: Mapping[Any, Any]) -> list[Any]:
    """The values of `columns_with`."""
    return list(columns_with(field, record).values())


def relation_of(record: Mapping[Any, Any]) -> str:
    """The relation of a record; "" without one.

    A direction in Gephi's column "Type" is none, but "DIRECTED" is a type of Neo4j.

    >>> relation_of({"Source": "a", "Type": "Directed", "Edge Label": "steers"}), relation_of({"type": "DIRECTED"})
    ('steers', 'DIRECTED')
    """
    columns = columns_with("relation", record)
    name_of = {column: joined(value, ", ").strip() for column, value in columns.items()}
    names = [
        name for column, name in name_of.items() if not _is_direction(column, name)
    ]
    if len(names) > 1 and names[0] in GENERAL_RELATIONS and names[1].isupper():
        return names[1]
    return names[0] if names else ""


def _is_direction(column: str, name: str) -> bool:
    """Whether a column holds the direction of an edge of Gephi, and no type of Neo4j."""
    is_direction = folded(column) == "type" and name.casefold() in DIRECTIONS
    return is_direction and not name.isupper()


def joined(value: object, separator: str) -> str:
    """A value as text; the members of a list, or of LightRAG's "a<SEP>b", are joined by a separator."""
    members = value if isinstance(value, list | tuple) else str(value).split("<SEP>")
    return separator.join(map(str, members))


def words_joined(value: Any) -> Any:
    """The name that a list of words is, as GLiREL and DocRED have it; any other value itself."""
    is_words = isinstance(value, list) and all(isinstance(word, str) for word in value)
    return " ".join(value) if is_words else value


def _is_blank(value: Any) -> bool:
    """Whether a value is missing: an empty list, None, NaN, or a text of blanks."""
    if isinstance(value, list | tuple):
        return not value
    is_nan = value != value
    return value is None or is_nan or not str(value).strip()
