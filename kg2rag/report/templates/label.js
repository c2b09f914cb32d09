"use strict";
// Hits to judge, one at a time, without the system that found them. All text enters the page as text nodes.
(() => {
  const data = JSON.parse(document.getElementById("kg2rag-label").textContent);
  const place = document.getElementById("label");
  const asked = data.questions.flatMap((of, number) => of.hits.map((hit, at) => ({ of, number, hit, at })));
  const NAME = `questions-${data.key}.jsonl`, Z = [1.959964, 0.841621], FEW = 10;
  const grades = new Map();  // place in `asked` -> 1 or 0
  let now = 0, file = null, writing = Promise.resolve(), kept = "until this page is closed: save them";

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
    turn(+1);
  }
  const turn = by => { now = Math.min(Math.max(now + by, 0), asked.length); draw(); };

  // All questions, as `kg2rag compare FOLDER --questions FILE` reads them; gold is empty where no hit is relevant.
  // Of questions that came with gold, those that were judged: the others nobody has reviewed.
  function rows() {
    const found = new Map();
    for (const [at, grade] of [...grades].sort((a, b) => a[0] - b[0])) {
      const { of, number, hit } = asked[at];
      if (!found.has(number)) found.set(number, { ...of.row, gold: {}, judged: { ...of.row.judged } });
      if (grade) found.get(number).gold[hit] = grade;
      found.get(number).judged[hit] = grade;
    }
    const open = data.questions.filter(({ row }, number) => !found.has(number) && !row.gold).map(({ row }) => row);
    return [...data.kept, ...found.values(), ...open].map(one => `${JSON.stringify(one)}\n`).join("");
  }

  function keep() {
    try {  // a browser may refuse to remember what a file's page or a notebook's frame says
      localStorage.setItem(`kg2rag ${data.key}`, JSON.stringify([...grades]));
      if (!file) kept = "in this browser: save them when you are done";
    } catch { /* they are kept in the page */ }
    if (file) writing = writing.then(write).catch(() => { file = null; kept = "in this page: the file cannot be written"; draw(); });
  }
  async function write() {
    const out = await file.createWritable();
    await out.write(rows());
    await out.close();
  }
  async function choose() {
    try { file = await window.showSaveFilePicker({ suggestedName: NAME }); } catch { return; }
    kept = `in ${file.name}, at once`;
    keep();
    draw();
  }
  function save() {
    const link = make("a", { href: URL.createObjectURL(new Blob([rows()], { type: "application/x-ndjson" })), download: NAME });
    link.click();
    URL.revokeObjectURL(link.href);
  }
  try {
    for (const [at, grade] of JSON.parse(localStorage.getItem(`kg2rag ${data.key}`) || "[]")) grades.set(at, grade);
    kept = "in this browser: save them when you are done";
    while (grades.has(now)) now += 1;
  } catch { /* as above */ }

  // How many questions are missing

  const points = make("input", { type: "number", min: "1", max: "100", value: "5", "aria-label": "points" });
  const missing = make("span", { class: "soft", role: "status" });
  points.addEventListener("input", count);
  function recalls() {  // of each question that is judged whole and has a relevant hit, one of each system
    const whole = data.questions.map(() => new Set());
    asked.forEach(({ number, at }, place) => { if (grades.get(place) === 1) whole[number].add(at); else if (!grades.has(place)) whole[number] = { add() {}, size: 0 }; });
    const own = data.questions.map(({ runs }, number) => whole[number].size ? runs.map(run => run.filter(at => whole[number].has(at)).length / whole[number].size) : []);
    return [...data.scores, ...own.filter(scores => scores.length > 1)];
  }
  function count() {
    if (!data.questions[0] || data.questions[0].runs.length < 2) return;
    const scores = recalls(), n = scores.length, least = points.valueAsNumber / 100;
    let sd = 0;
    if (n >= FEW) for (let a = 1; a < scores[0].length; a += 1) for (let b = 0; b < a; b += 1) {
      const apart = scores.map(of => of[a] - of[b]), mean = apart.reduce((x, y) => x + y) / n;
      sd = Math.max(sd, Math.sqrt(apart.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (n - 1)));
    }
    const needed = Math.ceil(Math.max(((Z[0] + Z[1]) * sd / least) ** 2, Z[0] ** 2 * (1 - least) / least));
    missing.textContent = !(least > 0) ? "" : n < FEW ? `questions with gold: ${n}; from ${FEW} on, how many are missing is known`
      : `questions with gold: ${n}; ${needed > n ? `about ${needed - n} more` : "enough"} to see such a difference four times in five (spread ${(100 * sd).toFixed(0)} points)`;
  }

  const shown = make("div", { "aria-live": "polite" }), state = make("span", { class: "soft", role: "status" });
  const marks = { 1: " · judged relevant", 0: " · judged not relevant" };
  function draw() {
    const one = asked[now];
    state.textContent = `${grades.size} of ${asked.length} judged${marks[grades.get(now)] || ""} · kept ${kept}`;
    count();
    if (!one) return shown.replaceChildren(make("p", {}, asked.length ? "All were shown: save the judgements, or go back." : "There is no hit to judge."));
    const [title, text] = data.passages[one.hit], row = one.of.row;
    const about = `question ${one.number + 1} of ${data.questions.length}, hit ${one.at + 1} of ${one.of.hits.length}`;
    shown.replaceChildren(make("h3", { class: "question" }, make("bdi", {}, row.question)),
      ...(row.answers && row.answers.length ? [make("p", {}, "answer: ", make("bdi", {}, row.answers.join(" / ")))] : []), make("p", { class: "soft" }, about),
      make("p", {}, make("b", {}, make("bdi", {}, title || one.hit)), " ", make("bdi", { class: "soft" }, one.hit)), make("p", {}, make("bdi", { class: "passage" }, text)));
  }
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
    if (document.getElementById("questions") && !place.contains(event.target)) return;  // a list beside it has keys of its own
    const act = { 1: () => judge(1), 0: () => judge(0), ArrowLeft: () => turn(-1), ArrowRight: () => turn(+1) }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  const picker = "showSaveFilePicker" in window && window.self === window.top ? [button("keep in a file …", choose)] : [];
  const form = make("form", {}, button("1 relevant", () => judge(1)), button("0 not relevant", () => judge(0)),
    button("‹ back", () => turn(-1)), button("skip ›", () => turn(+1)), ...picker, button("save", save), state);
  form.addEventListener("submit", event => event.preventDefault());
  place.append(form, shown);
  if (data.questions[0] && data.questions[0].runs.length > 1) place.append(make("p", { class: "missing" }, "A difference of ", points, " points of recall: ", missing));
  draw();
})();
