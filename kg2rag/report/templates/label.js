"use strict";
// Hits to judge, one at a time, without the system that found them. All text enters the page as text nodes.
(() => {
  const data = JSON.parse(document.getElementById("kg2rag-label").textContent);
  const place = document.getElementById("label");
  const hits = data.questions.flatMap((question, number) => question.hits.map((id, rank) => ({ question, number, id, rank })));
  const FILE = `questions-${data.key}.jsonl`, STORED = `kg2rag ${data.key}`;
  const grades = new Map();  // index in `hits` -> 1 or 0
  let current = 0, file = null, writing = Promise.resolve(), storedPlace = "only in this page: save them", savedName = "";

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }
  function button(text, action) {
    const control = make("button", { type: "button" }, text);
    control.addEventListener("click", action);
    return control;
  }

  function judge(grade) {
    if (current >= hits.length) return;
    grades.set(current, grade);
    savedName = "";
    storeGrades();
    move(+1);
  }
  const move = step => { current = Math.min(Math.max(current + step, 0), hits.length); draw(); };

  // All questions, as `kg2rag compare FOLDER --questions FILE` reads them; gold is empty if no hit is relevant.
  // Of questions that came with gold, those that were judged: the others nobody has reviewed.
  function rows() {
    const judged = new Map();
    for (const [index, grade] of [...grades].sort((a, b) => a[0] - b[0])) {
      const { question, number, id } = hits[index];
      if (!judged.has(number)) judged.set(number, { ...question.row, gold: {}, judged: { ...question.row.judged } });
      if (grade) judged.get(number).gold[id] = grade;
      judged.get(number).judged[id] = grade;
    }
    const openRows = data.questions.filter(({ row }, number) => !judged.has(number) && !row.gold).map(({ row }) => row);
    return [...data.other_rows, ...judged.values(), ...openRows].map(row => `${JSON.stringify(row)}\n`).join("");
  }

  // Where judgements are kept: in a file that the judge names, in the browser's storage under a key of this page's
  // content, or, if the browser refuses both, only in the page.
  function storeGrades() {
    try {
      localStorage.setItem(STORED, JSON.stringify([...grades]));
      if (!file) storedPlace = "in this browser: save them when you are done";
    } catch { /* a page of a file or a frame of a notebook may have no storage */ }
    if (file) writing = writing.then(write).catch(() => { file = null; storedPlace = "only in this page: the file cannot be written"; draw(); });
  }
  async function write() {
    const out = await file.createWritable();
    await out.write(rows());
    await out.close();
    savedName = file.name;
    draw();
  }
  async function chooseFile() {
    try { file = await window.showSaveFilePicker({ suggestedName: FILE }); } catch { return; }
    storedPlace = `in ${file.name}`;
    storeGrades();
    draw();
  }
  function save() {
    const link = make("a", { href: URL.createObjectURL(new Blob([rows()], { type: "application/x-ndjson" })), download: FILE });
    link.click();
    URL.revokeObjectURL(link.href);
    savedName = FILE;
    draw();
  }
  function restore() {
    try {
      for (const [index, grade] of JSON.parse(localStorage.getItem(STORED) || "[]")) grades.set(index, grade);
      storedPlace = "in this browser: save them when you are done";
      while (grades.has(current)) current += 1;
    } catch { /* as in storeGrades */ }
  }

  // How many questions are missing: `questions_needed` of the system that differs most from the baseline

  const points = make("input", { type: "number", min: "1", max: "100", value: "5", "aria-label": "points" });
  const missing = make("span", { class: "soft", role: "status" });
  points.addEventListener("input", count);
  function recalls() {  // of each question with all hits judged and a relevant one: the recall of each system
    const relevant = data.questions.map(() => new Set()), complete = data.questions.map(() => true);
    hits.forEach(({ number, rank }, index) => {
      if (!grades.has(index)) complete[number] = false;
      else if (grades.get(index)) relevant[number].add(rank);
    });
    const judged = data.questions.map(({ runs }, number) => {
      const gold = relevant[number];
      if (!complete[number] || !gold.size) return [];
      return runs.map(run => run.filter(rank => gold.has(rank)).length / gold.size);
    });
    return [...data.scores, ...judged.filter(scores => scores.length > 1)];
  }
  function spreadOf(values) {
    const n = values.length, mean = values.reduce((x, y) => x + y, 0) / n;
    return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1));
  }
  function count() {
    const { z, z_power, spread, min_questions } = data.planning;
    if (!spread || !data.questions[0] || data.questions[0].runs.length < 2) return;
    const scores = recalls(), n = scores.length, gain = points.valueAsNumber / 100;
    if (!(gain > 0)) { missing.textContent = ""; return; }
    if (n < min_questions) {
      missing.textContent = `questions with gold: ${n}; an estimate of the number needed takes at least ${min_questions}`;
      return;
    }
    const others = scores[0].map((_, system) => system).filter(system => system !== data.baseline);
    const sd = Math.max(...others.map(system => spreadOf(scores.map(recall => recall[system] - recall[data.baseline]))));
    const byTies = z ** 2 * (1 - gain) / gain;
    const more = spread[n].map(factor => Math.max(0, Math.ceil(Math.max(((z + z_power) * sd * factor / gain) ** 2, byTies)) - n));
    const range = more[0] === more[1] ? `${more[0]}` : `${more[0]} to ${more[1]}`;
    missing.textContent = `questions with gold: ${n}; ${more[1] ? `${range} more` : "enough"} to detect such a difference with 80 % power (spread so far: ${(100 * sd).toFixed(0)} points)`;
  }

  // The page

  const detail = make("div", { "aria-live": "polite" }), state = make("span", { class: "soft", role: "status" });
  const next = make("p", { class: "next", role: "status" });
  const judgement = { 1: " · judged relevant", 0: " · judged not relevant" };
  function draw() {
    const hit = hits[current];
    const storage = savedName ? `saved as ${savedName}` : `kept ${storedPlace}`;
    state.textContent = `${grades.size} of ${hits.length} judged${judgement[grades.get(current)] || ""} · ${storage}`;
    next.replaceChildren(...(savedName ? ["Next: ", make("code", {}, `kg2rag compare FOLDER --questions ${savedName}`),
      " (FOLDER: your documents; the file is where the browser saves downloads), or in Python ",
      make("code", {}, `data.with_questions("${savedName}")`), "."] : []));
    count();
    if (!hit) return detail.replaceChildren(make("p", {}, hits.length ? "All hits were shown: save the judgements, or go back." : "There is no hit to judge."));
    const [title, text] = data.passages[hit.id], { row } = hit.question;
    const answers = row.answers && row.answers.length ? [make("p", {}, "answer: ", make("bdi", {}, row.answers.join(" / ")))] : [];
    detail.replaceChildren(
      make("h3", { class: "question" }, make("bdi", {}, row.question)), ...answers,
      make("p", { class: "soft" }, `question ${hit.number + 1} of ${data.questions.length}, hit ${hit.rank + 1} of ${hit.question.hits.length}`),
      make("p", {}, make("b", {}, make("bdi", {}, title || hit.id)), " ", make("bdi", { class: "soft" }, hit.id)),
      make("div", { class: "passage", dir: "auto" }, text));
  }
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
    if (document.getElementById("questions") && !place.contains(event.target)) return;  // a list beside it has its keys
    const action = { 1: () => judge(1), 0: () => judge(0), ArrowLeft: () => move(-1), ArrowRight: () => move(+1) }[event.key];
    if (action) { event.preventDefault(); action(); }
  });
  const picker = "showSaveFilePicker" in window && window.self === window.top ? [button("keep in a file …", chooseFile)] : [];
  const form = make("form", {}, button("1 relevant", () => judge(1)), button("0 not relevant", () => judge(0)),
    button("‹ back", () => move(-1)), button("skip ›", () => move(+1)), ...picker, button("save", save), state);
  form.addEventListener("submit", event => event.preventDefault());
  place.append(form, next, detail);
  if (data.planning.spread && data.questions[0] && data.questions[0].runs.length > 1) {
    place.append(make("p", { class: "missing" }, "A difference of ", points, " points of recall from the baseline: ", missing));
  }
  restore();
  draw();
})();
