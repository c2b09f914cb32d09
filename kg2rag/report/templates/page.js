"use strict";
// The list of questions and two systems' hits side by side. All text enters the page as text nodes, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("kg2rag-page").textContent);
  const place = document.getElementById("questions");
  const PAGE = 50, EQUAL = 1e-6, EXCERPT = 240;
  const questions = data.questions.map(([id, text, type, hops, scores], index) => (
    { index, id, text, type: type || "unknown", hops: hops || "unknown", scores, searchText: `${text} ${id}`.toLowerCase() }));
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
  const scoreText = (value, metric) => value === null ? "?" : value.toFixed(data.metrics[metric][1]);
  const differenceText = value => Math.abs(value) < EQUAL ? "=" : (value > 0 ? "+" : "−") + scoreText(Math.abs(value), state.metric);
  const sideAhead = value => Math.abs(value) < EQUAL ? "equal" : value > 0 ? "right" : "left";

  // The selection of questions

  function matchingQuestions() {
    const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
    const matches = questions.filter(question => {
      const ahead = sideAhead(difference(question));
      return (!state.type || question.type === state.type) && (!state.hops || question.hops === state.hops)
        && (!state.ahead || ahead === state.ahead || (state.ahead === "either" && ahead !== "equal"))
        && words.every(word => question.searchText.includes(word));
    });
    const orders = { difference: question => -Math.abs(difference(question)), right: question => -difference(question), left: difference };
    if (state.order in orders) matches.sort((a, b) => orders[state.order](a) - orders[state.order](b) || a.index - b.index);
    return matches;
  }

  function optionsWithCounts(name, allLabel) {
    const counts = new Map();
    for (const question of questions) counts.set(question[name], (counts.get(question[name]) || 0) + 1);
    const values = [...counts.keys()];
    if (name === "hops") values.sort((a, b) => (Number(a) || 1e9) - (Number(b) || 1e9));
    return [["", `${allLabel} (${questions.length})`], ...values.map(value => [value, `${value} (${counts.get(value)})`])];
  }

  function select(label, name, options) {
    const control = make("select", { name }, options.map(([value, text]) => make("option", { value }, text)));
    control.value = String(state[name]);
    control.addEventListener("change", () => setOption(name, control.value));
    return make("label", {}, label, control);
  }

  function setOption(name, value) {
    const former = state[name];
    state[name] = name === "left" || name === "right" || name === "metric" ? Number(value) : value;
    if (data.systems.length > 1 && state.left === state.right) {  // a system is on one side only: they change places
      state[name === "left" ? "right" : "left"] = former;
      for (const side of ["left", "right"]) form.elements[side].value = String(state[side]);
    }
    state.page = 0;
    if (name === "order") state.question = null;
    draw();
  }

  const systems = data.systems.map((name, index) => [index, name]);
  const search = make("input", { type: "search", name: "words", placeholder: "words, or an id" });
  search.addEventListener("input", () => setOption("words", search.value));
  const form = make("form", { "aria-label": "Which questions" },
    select("left", "left", systems), select("right", "right", systems),
    select("metric", "metric", data.metrics.map(([name], index) => [index, name])),
    make("label", {}, "search", search),
    select("type", "type", optionsWithCounts("type", "all types")), select("hops", "hops", optionsWithCounts("hops", "any")),
    select("ahead", "ahead", [["", "any"], ["left", "left"], ["right", "right"], ["either", "either"], ["equal", "neither"]]),
    select("order", "order", [["difference", "largest difference"], ["right", "right ahead"], ["left", "left ahead"], ["asked", "as asked"]]));
  form.addEventListener("submit", event => event.preventDefault());

  // The list

  const list = make("ol", { class: "list", "aria-label": "Questions that match" });
  const previousButton = make("button", { type: "button" }, "‹ previous"), nextButton = make("button", { type: "button" }, "next ›");
  const count = make("span", { class: "soft", role: "status" });
  const detail = make("div", { class: "shown" });
  const turnPage = step => { state.page += step; state.question = null; draw(); };
  previousButton.addEventListener("click", () => turnPage(-1));
  nextButton.addEventListener("click", () => turnPage(+1));
  list.addEventListener("keydown", event => {
    const item = event.target.closest("li");
    const next = { ArrowDown: item && item.nextSibling, ArrowUp: item && item.previousSibling }[event.key];
    if (!next) return;
    event.preventDefault();
    next.firstChild.focus();
    next.firstChild.click();
  });

  function row(question) {
    const gain = difference(question), scores = `${scoreText(scoreOf(question, state.left), state.metric)} → ${scoreText(scoreOf(question, state.right), state.metric)}`;
    const facts = [question.type !== "unknown" && question.type, question.hops !== "unknown" && `${question.hops} hop${question.hops === "1" ? "" : "s"}`, scores].filter(Boolean).join(" · ");
    const button = make("button", { type: "button", "aria-current": String(question === state.question) },
      make("bdi", { class: "asked" }, question.text || question.id), make("span", { class: `ahead ${sideAhead(gain)}` }, differenceText(gain)),
      make("small", {}, make("bdi", {}, facts)));
    button.addEventListener("click", () => {
      state.question = question;
      for (const other of list.querySelectorAll("button")) other.setAttribute("aria-current", String(other === button));
      showQuestion();
    });
    return make("li", {}, button);
  }

  function draw() {
    const matches = matchingQuestions();
    if (state.question && matches.includes(state.question)) state.page = Math.floor(matches.indexOf(state.question) / PAGE);
    const start = state.page * PAGE, page = matches.slice(start, start + PAGE);
    if (!page.includes(state.question)) state.question = page[0] || null;
    list.replaceChildren(...page.map(row));
    list.scrollTop = 0;
    previousButton.disabled = state.page === 0;
    nextButton.disabled = start + PAGE >= matches.length;
    count.textContent = page.length ? `${start + 1}–${start + page.length} of ${matches.length}${matches.length < questions.length ? ` that match, ${questions.length} in all` : ""}`
      : `none of ${questions.length} questions matches`;
    showQuestion();
  }

  // A question

  function showQuestion() {
    const question = state.question;
    if (!question) return detail.replaceChildren(make("p", {}, "No question matches. Remove words from the search, or choose all types."));
    const hits = data.hits[question.index];
    const facts = [["id", question.id], ["type", question.type], ["hops", question.hops]].filter(([, value]) => value !== "unknown");
    if (hits && hits.answers.length) facts.push(["answer", hits.answers.join(" / ")]);
    detail.replaceChildren(
      make("h3", { class: "question" }, make("bdi", {}, question.text || question.id)),
      make("dl", {}, facts.map(([name, value]) => [make("dt", {}, name), make("dd", {}, make("bdi", {}, value))])),
      hits ? goldTable(hits) : make("p", { class: "kg2rag-note" }, "The hits of this question are left out, to limit the size of the page."),
      make("div", { class: "pair" }, column(question, state.left, state.right, "left"), state.right === state.left ? null : column(question, state.right, state.left, "right")));
  }

  const name = passage => data.passages[passage][1] || data.passages[passage][0];

  function goldTable(hits) {
    if (!hits.gold.length) return null;
    const systems = state.left === state.right ? [state.left] : [state.left, state.right];
    const rank = (system, unit) => hits.systems[system].gold[unit] ? `rank ${hits.systems[system].gold[unit]}` : "not found";
    return make("p", {}, make("span", { class: "gold" }, "◆ gold "), hits.gold.map(([id, passages], unit) => make("span", { class: "soft" },
      make("bdi", { title: id }, passages.length === 1 ? name(passages[0]) : id), ` (${systems.map(system => `${data.systems[system]}: ${rank(system, unit)}`).join(", ")})`, unit + 1 < hits.gold.length ? "; " : "")));
  }

  function column(question, system, other, side) {
    const scores = data.metrics.map(([metric], index) => `${metric} ${scoreText(question.scores[system][index], index)}`).join(" · ");
    const head = [make("h4", { class: `of-${side}` }, data.systems[system]), make("p", { class: "soft" }, scores)];
    const hits = data.hits[question.index];
    if (!hits) return make("section", {}, head);
    const gold = new Set(hits.gold.flatMap(([, passages]) => passages));
    const ranking = hits.systems[system], otherRanking = other === system ? null : hits.systems[other];
    const missed = hits.gold.filter((_, unit) => !ranking.gold[unit] || ranking.gold[unit] > ranking.passages.length).map(([id]) => id);
    return make("section", { "aria-label": data.systems[system] }, head,
      missed.map(id => make("p", { class: "kg2rag-missed" }, "◆ gold not shown here: ", make("bdi", {}, id))),
      make("ol", { class: "hits" }, ranking.passages.map((_, index) => hit(ranking, index, otherRanking, other, gold))),
      ranking.passages.length ? null : make("p", { class: "soft" }, "Nothing was returned."),
      ranking.notes.map(([key, value]) => make("p", { class: "soft" }, make("bdi", {}, `${key}: ${value}`))));
  }

  function hit(ranking, index, otherRanking, other, gold) {
    const passage = ranking.passages[index], [id, title, text] = data.passages[passage], isGold = gold.has(passage), label = data.labels[ranking.stages[index]];
    const otherRank = otherRanking ? otherRanking.passages.indexOf(passage) + 1 : 0;
    const change = otherRanking && make("span", { class: "tag", title: `rank in ${data.systems[other]}, among its first ${otherRanking.passages.length}` },
      otherRank ? `${otherRank === index + 1 ? "=" : otherRank > index + 1 ? "▲" : "▼"} ${data.systems[other]} ${otherRank}` : `${data.systems[other]} –`);
    const head = make("span", { class: "name" }, make("b", {}, make("bdi", {}, title || id)), title ? [" ", make("bdi", { class: "soft" }, id)] : null,
      isGold ? make("span", { class: "gold" }, " ◆ gold") : null);
    const parts = data.parts[ranking.parts], values = ranking.values[index];
    const value = part => values[parts.indexOf(part)];
    const terms = ranking.formulas[index] < 0 ? null : data.formulas[ranking.formulas[index]].filter(term => term.every((piece, n) => n % 2 === 0 || isKnown(value(piece))));
    const partsOfTerms = new Set((terms || []).flatMap(term => term.filter((_, n) => n % 2)));
    const sum = terms ? terms.map(term => term.map((piece, n) => n % 2 ? `${value(piece)} (${piece})` : piece).join("")).join(" + ")
      : parts.filter(part => isKnown(value(part))).map(part => `${part} ${value(part)}`).join(", ");
    const furtherParts = terms ? parts.filter(part => isKnown(value(part)) && !partsOfTerms.has(part)).map(part => `${part} ${value(part)}`).join(", ") : "";
    return make("li", { class: isGold ? "hit is-gold" : "hit" },
      make("span", { class: "rank" }, String(index + 1)), head, make("span", { class: "score" }, String(ranking.scores[index])),
      make("span", {}, label ? make("span", { class: "tag" }, label) : null, " ", change || null),
      passageText(text || ""),
      sum ? make("small", { class: "sum" }, `= ${sum}`) : null,
      furtherParts ? make("small", { class: "sum" }, `besides: ${furtherParts}`) : null,
      ranking.paths[index].map(path));
  }

  const isKnown = value => value !== null && value !== undefined;

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

  const limitNote = data.hits.length < questions.length
    ? make("p", { class: "kg2rag-note" }, `The first ${data.hits.length} of ${questions.length} questions have their hits, the others only their scores, to limit the size of the page.`) : null;
  place.append(form, ...(limitNote ? [limitNote] : []), make("div", { class: "browser" }, make("div", {}, list, make("div", { class: "turn" }, previousButton, nextButton, count)), detail));
  draw();
  if (window.self !== window.top) window.scrollTo(0, place.offsetTop);  // in a notebook the table stands above the frame
})();
