"use strict";
// Hits to judge, one at a time, without the system that found them. All text enters the page as text nodes.
(() => {
  const data = JSON.parse(document.getElementById("kg2rag-data").textContent);
  const place = document.getElementById("label");
  const asked = data.questions.flatMap(([id, text, hits]) => hits.map((hit, at) => ({ id, text, hit, at, of: hits.length })));
  const KEPT = `kg2rag ${data.key}`;
  const grades = new Map();  // place in `asked` -> 1 or 0
  let now = 0;

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }
  function button(text, act) {
    const made = make("button", { type: "button" }, text);
    made.addEventListener("click", act);
    return made;
  }

  function judge(grade) {
    if (now >= asked.length) return;
    grades.set(now, grade);
    keep();
    now += 1;
    draw();
  }
  const turn = by => { now = Math.min(Math.max(now + by, 0), asked.length); draw(); };
  // Questions with a relevant hit, as `kg2rag compare FOLDER --questions FILE` reads them.
  function qrels() {
    const found = new Map();
    for (const [at, grade] of [...grades].sort((a, b) => a[0] - b[0])) {
      const { id, text, hit } = asked[at];
      if (!found.has(id)) found.set(id, { id, question: text, gold: {}, judged: {} });
      if (grade) found.get(id).gold[hit] = grade;
      found.get(id).judged[hit] = grade;
    }
    return [...found.values()].filter(one => Object.keys(one.gold).length).map(one => `${JSON.stringify(one)}\n`).join("");
  }

  function keep() {  // a browser may refuse to remember what a file's page says
    try { localStorage.setItem(KEPT, JSON.stringify([...grades])); } catch { /* the download is what counts */ }
  }
  try {
    for (const [at, grade] of JSON.parse(localStorage.getItem(KEPT) || "[]")) grades.set(at, grade);
    while (grades.has(now)) now += 1;
  } catch { /* as above */ }

  function save() {
    const link = make("a", { href: URL.createObjectURL(new Blob([qrels()], { type: "application/x-ndjson" })), download: "questions.jsonl" });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  const shown = make("div", { "aria-live": "polite" }), count = make("span", { class: "soft", role: "status" });
  const marks = { 1: " · judged relevant", 0: " · judged not relevant" };
  function draw() {
    const one = asked[now];
    count.textContent = `${grades.size} of ${asked.length} judged${marks[grades.get(now)] || ""}`;
    if (!one) return shown.replaceChildren(make("p", {}, "All were shown: save the judgements, or go back."));
    const [title, text] = data.passages[one.hit];
    shown.replaceChildren(make("h3", { class: "question" }, make("bdi", {}, one.text)), make("p", { class: "soft" }, `hit ${one.at + 1} of ${one.of}`),
      make("p", {}, make("b", {}, make("bdi", {}, title || one.hit))), make("p", {}, make("bdi", { class: "text" }, text)));
  }
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = { 1: () => judge(1), 0: () => judge(0), ArrowLeft: () => turn(-1), ArrowRight: () => turn(+1) }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  const form = make("form", {}, button("1 relevant", () => judge(1)), button("0 not relevant", () => judge(0)),
    button("‹ back", () => turn(-1)), button("skip ›", () => turn(+1)), button("save qrels", save), count);
  place.append(form, shown);
  draw();
})();
