"use strict";
// The list of questions and two systems' hits side by side. All text enters the page as text nodes, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("kg2rag-page").textContent);
  const place = document.getElementById("questions");
  const PAGE = 50, EQUAL = 1e-6, EXCERPT = 240;
  const questions = data.questions.map(([id, text, type, hops, scores], at) => (
    { at, id, text, type: type || "unknown", hops: hops || "unknown", scores, sought: `${text} ${id}`.toLowerCase() }));
  const state = { left: data.first[0], right: data.first[1], metric: 0, order: "difference", type: "", hops: "", ahead: "", words: "", page: 0, question: null };

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== ""));
    return element;
  }

  // Scores

  const scoreOf = (question, system) => question.scores[system][state.metric];
  const difference = question => {
    const left = scoreOf(question, state.left), right = scoreOf(question, state.right);
    return left === null || right === null ? 0 : right - left;
  };
  const written = (value, metric) => value === null ? "?" : value.toFixed(data.metrics[metric][1]);
  const signed = value => Math.abs(value) < EQUAL ? "=" : (value > 0 ? "+" : "−") + written(Math.abs(value), state.metric);
  const side = value => Math.abs(value) < EQUAL ? "equal" : value > 0 ? "right" : "left";

  // What is chosen

  function listed() {
    const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = questions.filter(question => {
      const where = side(difference(question));
      return (!state.type || question.type === state.type) && (!state.hops || question.hops === state.hops)
        && (!state.ahead || where === state.ahead || (state.ahead === "either" && where !== "equal"))
        && words.every(word => question.sought.includes(word));
    });
    const by = { difference: question => -Math.abs(difference(question)), right: question => -difference(question), left: difference };
    if (state.order in by) kept.sort((a, b) => by[state.order](a) - by[state.order](b) || a.at - b.at);
    return kept;
  }

  function counted(name, every) {
    const counts = new Map();
    for (const question of questions) counts.set(question[name], (counts.get(question[name]) || 0) + 1);
    const values = [...counts.keys()];
    if (name === "hops") values.sort((a, b) => (Number(a) || 1e9) - (Number(b) || 1e9));
    return [["", `${every} (${questions.length})`], ...values.map(value => [value, `${value} (${counts.get(value)})`])];
  }

  function select(label, name, options) {
    const control = make("select", { name }, options.map(([value, text]) => make("option", { value }, text)));
    control.value = String(state[name]);
    control.addEventListener("change", () => choose(name, control.value));
    return make("label", {}, label, control);
  }

  function choose(name, value) {
    const before = state[name];
    state[name] = name === "left" || name === "right" || name === "metric" ? Number(value) : value;
    if (data.systems.length > 1 && state.left === state.right) {  // a system is on one side only: they change places
      state[name === "left" ? "right" : "left"] = before;
      for (const each of ["left", "right"]) form.elements[each].value = String(state[each]);
    }
    state.page = 0;
    if (name === "order") state.question = null;
    draw();
  }

  const systems = data.systems.map((name, at) => [at, name]);
  const search = make("input", { type: "search", name: "words", placeholder: "words, or an id" });
  search.addEventListener("input", () => choose("words", search.value));
  const form = make("form", { "aria-label": "Which questions" },
    select("left", "left", systems), select("right", "right", systems),
    select("metric", "metric", data.metrics.map(([name], at) => [at, name])),
    make("label", {}, "search", search),
    select("type", "type", counted("type", "all types")), select("hops", "hops", counted("hops", "any")),
    select("ahead", "ahead", [["", "any"], ["left", "left"], ["right", "right"], ["either", "either"], ["equal", "neither"]]),
    select("order", "order", [["difference", "largest difference"], ["right", "right ahead"], ["left", "left ahead"], ["asked", "as asked"]]));
  form.addEventListener("submit", event => event.preventDefault());

  // The list

  const list = make("ol", { class: "list", "aria-label": "Questions that match" });
  const back = make("button", { type: "button" }, "‹ previous"), forth = make("button", { type: "button" }, "next ›");
  const count = make("span", { class: "soft", role: "status" });
  const shown = make("div", { class: "shown" });
  const turn = by => { state.page += by; state.question = null; draw(); };
  back.addEventListener("click", () => turn(-1));
  forth.addEventListener("click", () => turn(+1));
  list.addEventListener("keydown", event => {
    const item = event.target.closest("li");
    const next = { ArrowDown: item && item.nextSibling, ArrowUp: item && item.previousSibling }[event.key];
    if (!next) return;
    event.preventDefault();
    next.firstChild.focus();
    next.firstChild.click();
  });

  function row(question) {
    const apart = difference(question), both = `${written(scoreOf(question, state.left), state.metric)} → ${written(scoreOf(question, state.right), state.metric)}`;
    const kind = [question.type !== "unknown" && question.type, question.hops !== "unknown" && `${question.hops} hop${question.hops === "1" ? "" : "s"}`, both].filter(Boolean).join(" · ");
    const button = make("button", { type: "button", "aria-current": String(question === state.question) },
      make("bdi", { class: "asked" }, question.text || question.id), make("span", { class: `ahead ${side(apart)}` }, signed(apart)),
      make("small", {}, make("bdi", {}, kind)));
    button.addEventListener("click", () => {
      state.question = question;
      for (const other of list.querySelectorAll("button")) other.setAttribute("aria-current", String(other === button));
      explain();
    });
    return make("li", {}, button);
  }

  function draw() {
    const found = listed();
    if (state.question && found.includes(state.question)) state.page = Math.floor(found.indexOf(state.question) / PAGE);
    const start = state.page * PAGE, page = found.slice(start, start + PAGE);
    if (!page.includes(state.question)) state.question = page[0] || null;
    list.replaceChildren(...page.map(row));
    list.scrollTop = 0;
    back.disabled = state.page === 0;
    forth.disabled = start + PAGE >= found.length;
    count.textContent = page.length ? `${start + 1}–${start + page.length} of ${found.length}${found.length < questions.length ? ` that match, ${questions.length} in all` : ""}`
      : `none of ${questions.length} questions matches`;
    explain();
  }

  // A question

  function explain() {
    const question = state.question;
    if (!question) return shown.replaceChildren(make("p", {}, "No question matches. Remove words from the search, or choose all types."));
    const found = data.found[question.at];
    const facts = [["id", question.id], ["type", question.type], ["hops", question.hops]].filter(([, value]) => value !== "unknown");
    if (found && found.answers.length) facts.push(["answer", found.answers.join(" / ")]);
    shown.replaceChildren(
      make("h3", { class: "question" }, make("bdi", {}, question.text || question.id)),
      make("dl", {}, facts.map(([name, value]) => [make("dt", {}, name), make("dd", {}, make("bdi", {}, value))])),
      found ? goldTable(found) : make("p", { class: "kg2rag-note" }, "The hits of this question are left out, to limit the size of the page."),
      make("div", { class: "pair" }, column(question, state.left, state.right, "left"), state.right === state.left ? null : column(question, state.right, state.left, "right")));
  }

  const name = passage => data.passages[passage][1] || data.passages[passage][0];

  function goldTable(found) {
    if (!found.gold.length) return null;
    const both = state.left === state.right ? [state.left] : [state.left, state.right];
    const rank = (system, at) => found.systems[system].gold[at] ? `rank ${found.systems[system].gold[at]}` : "not found";
    return make("p", {}, make("span", { class: "gold" }, "◆ gold "), found.gold.map(([id, passages], at) => make("span", { class: "soft" },
      make("bdi", { title: id }, passages.length === 1 ? name(passages[0]) : id), ` (${both.map(system => `${data.systems[system]}: ${rank(system, at)}`).join(", ")})`, at + 1 < found.gold.length ? "; " : "")));
  }

  function column(question, system, other, which) {
    const scores = data.metrics.map(([metric], at) => `${metric} ${written(question.scores[system][at], at)}`).join(" · ");
    const head = [make("h4", { class: `of-${which}` }, data.systems[system]), make("p", { class: "soft" }, scores)];
    const found = data.found[question.at];
    if (!found) return make("section", {}, head);
    const gold = new Set(found.gold.flatMap(([, passages]) => passages));
    const own = found.systems[system], beside = other === system ? null : found.systems[other];
    const missed = found.gold.filter((_, at) => !own.gold[at] || own.gold[at] > own.passages.length).map(([id], at) => id);
    return make("section", { "aria-label": data.systems[system] }, head,
      missed.map(id => make("p", { class: "kg2rag-missed" }, "◆ gold not shown here: ", make("bdi", {}, id))),
      make("ol", { class: "hits" }, own.passages.map((_, at) => hit(own, at, beside, other, gold))),
      own.passages.length ? null : make("p", { class: "soft" }, "Nothing was returned."),
      own.notes.map(([key, value]) => make("p", { class: "soft" }, make("bdi", {}, `${key}: ${value}`))));
  }

  function hit(own, at, beside, other, gold) {
    const passage = own.passages[at], [id, title, text] = data.passages[passage], isGold = gold.has(passage), label = data.labels[own.stages[at]];
    const there = beside ? beside.passages.indexOf(passage) + 1 : 0;
    const change = beside && make("span", { class: "tag", title: `rank in ${data.systems[other]}, among its first ${beside.passages.length}` },
      there ? `${there === at + 1 ? "=" : there > at + 1 ? "▲" : "▼"} ${data.systems[other]} ${there}` : `${data.systems[other]} –`);
    const head = make("span", { class: "name" }, make("b", {}, make("bdi", {}, title || id)), title ? [" ", make("bdi", { class: "soft" }, id)] : null,
      isGold ? make("span", { class: "gold" }, " ◆ gold") : null);
    const parts = data.parts[own.parts], values = own.values[at];
    const value = part => values[parts.indexOf(part)];
    const terms = own.formulas[at] < 0 ? null : data.formulas[own.formulas[at]].filter(term => term.every((piece, n) => n % 2 === 0 || given(value(piece))));
    const named = new Set((terms || []).flatMap(term => term.filter((_, n) => n % 2)));
    const sum = terms ? terms.map(term => term.map((piece, n) => n % 2 ? `${value(piece)} (${piece})` : piece).join("")).join(" + ")
      : parts.filter(part => given(value(part))).map(part => `${part} ${value(part)}`).join(", ");
    const besides = terms ? parts.filter(part => given(value(part)) && !named.has(part)).map(part => `${part} ${value(part)}`).join(", ") : "";
    return make("li", { class: isGold ? "hit is-gold" : "hit" },
      make("span", { class: "rank" }, String(at + 1)), head, make("span", { class: "score" }, String(own.scores[at])),
      make("span", {}, label ? make("span", { class: "tag" }, label) : null, " ", change || null),
      passageText(text || ""),
      sum ? make("small", { class: "sum" }, `= ${sum}`) : null,
      besides ? make("small", { class: "sum" }, `besides: ${besides}`) : null,
      own.paths[at].map(path));
  }

  const given = value => value !== null && value !== undefined;

  function passageText(text) {
    if (text.length <= EXCERPT) return text ? make("bdi", { class: "text" }, text) : null;
    const end = text.lastIndexOf(" ", EXCERPT) > 100 ? text.lastIndexOf(" ", EXCERPT) : EXCERPT;
    return make("details", {}, make("summary", {}, make("bdi", {}, `${text.slice(0, end)} `), make("span", { class: "more" }, "… more")), make("bdi", { class: "text" }, text.slice(end)));
  }

  function path(number) {
    const [head, relation, tail, strength, description] = data.triples[number];
    return make("div", { class: "kg2rag-path" }, make("span", { class: "node" }, head), make("span", { class: "relation" }, `${relation} (${strength}) →`),
      make("span", { class: "node" }, tail), description ? make("small", {}, make("bdi", {}, description)) : null);
  }

  const cut = data.found.length < questions.length
    ? make("p", { class: "kg2rag-note" }, `The first ${data.found.length} of ${questions.length} questions have their hits, the others only their scores, to limit the size of the page.`) : null;
  place.append(form, ...(cut ? [cut] : []), make("div", { class: "browser" }, make("div", {}, list, make("div", { class: "turn" }, back, forth, count)), shown));
  draw();
  if (window.self !== window.top) window.scrollTo(0, place.offsetTop);  // in a notebook the table stands above the frame
})();
