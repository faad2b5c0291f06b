"use strict";
// Shows all problems in place of the worst ones: rows of one height, of which only the visible ones are in the document.
(async function () {
  const HEIGHT = 28, SPARE = 20, NAMES = ["severity", "kind", "object", "field", "message", "cause"];
  const RANK = {critical: 0, high: 1, medium: 2, low: 3};
  const box = document.getElementById("rows"), part = document.getElementById("all");
  const source = document.getElementById("data");
  if (!box || !source) return;
  let text = source.textContent;
  if (source.dataset.form === "gzip") {
    const bytes = Uint8Array.from(atob(text), one => one.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    text = await new Response(stream).text();
  }
  const packed = JSON.parse(text), count = packed.rows;
  const column = name => {
    const one = packed.columns[name];
    return at => one.codes ? one.texts[one.codes[at]] : one.texts[at];
  };
  const columns = NAMES.map(column), lower = new Array(count);
  for (let at = 0; at < count; at++) lower[at] = columns.map(one => one(at)).join("\u0001").toLowerCase();
  const rank = at => RANK[columns[0](at)];
  const worst = Uint32Array.from({length: count}, (_, at) => at).sort((a, b) => rank(a) - rank(b) || a - b);
  part.hidden = false;
  document.getElementById("worst").className = "replaced";  // but in print
  const find = document.getElementById("find"), severity = document.getElementById("severity");
  const total = document.getElementById("count"), space = document.createElement("div");
  const head = document.createElement("div");
  head.className = "row head";
  head.setAttribute("role", "row");
  let order = "", down = false, shown = [];
  NAMES.forEach(name => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.addEventListener("click", () => { down = order === name && !down; order = name; update(); });
    const cell = document.createElement("span");
    cell.setAttribute("role", "columnheader");
    cell.append(button);
    head.append(cell);
  });
  box.append(head, space);
  function compare(name) {
    const value = columns[NAMES.indexOf(name)], sign = down ? -1 : 1;
    const key = name === "severity" ? at => RANK[value(at)] : value;
    return (one, other) => {
      const a = key(one), b = key(other);
      return a < b ? -sign : a > b ? sign : one - other;
    };
  }
  function update() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean), wanted = severity.value;
    shown = [];
    for (const at of worst) {
      if (wanted && columns[0](at) !== wanted) continue;
      let fits = true;
      for (const word of words) if (!lower[at].includes(word)) { fits = false; break; }
      if (fits) shown.push(at);
    }
    if (order) shown.sort(compare(order));
    [...head.children].forEach((one, number) => {
      one.setAttribute("aria-sort", NAMES[number] !== order ? "none" : down ? "descending" : "ascending");
    });
    total.textContent = shown.length === count ? `${count} problems` : `${shown.length} of ${count} problems`;
    space.style.height = `${shown.length * HEIGHT}px`;
    const state = new URLSearchParams();
    if (find.value) state.set("find", find.value);
    if (wanted) state.set("severity", wanted);
    if (order) state.set("sort", (down ? "-" : "") + order);
    const hash = state.toString();
    if (hash || location.hash.includes("=")) history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
    box.scrollTop = 0;
    draw();
  }
  function draw() {
    const first = Math.max(0, Math.floor(box.scrollTop / HEIGHT) - SPARE);
    const last = Math.min(shown.length, first + Math.ceil(box.clientHeight / HEIGHT) + 2 * SPARE);
    const rows = document.createDocumentFragment();
    for (let place = first; place < last; place++) {
      const row = document.createElement("div"), at = shown[place];
      row.className = "row";
      row.setAttribute("role", "row");
      row.style.top = `${place * HEIGHT + HEIGHT}px`;
      columns.forEach((value, number) => {
        const cell = document.createElement("span");
        cell.setAttribute("role", "cell");
        cell.title = value(at);
        if (!number) cell.className = value(at);
        if (NAMES[number] === "cause") {
          const link = document.createElement("a");
          link.href = `#${value(at)}`;
          link.textContent = value(at);
          cell.append(link);
        } else cell.textContent = value(at);
        row.append(cell);
      });
      rows.append(row);
    }
    box.querySelectorAll(".row:not(.head)").forEach(one => one.remove());
    box.append(rows);
  }
  function restore() {
    if (!location.hash.includes("=")) return;
    const state = new URLSearchParams(location.hash.slice(1)), sort = state.get("sort") || "";
    find.value = state.get("find") || "";
    severity.value = state.get("severity") || "";
    down = sort.startsWith("-");
    order = NAMES.includes(sort.replace("-", "")) ? sort.replace("-", "") : "";
  }
  let waiting = 0;
  find.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(update, 30); });
  severity.addEventListener("change", update);
  box.addEventListener("scroll", () => requestAnimationFrame(draw));
  addEventListener("resize", draw);
  addEventListener("hashchange", () => { if (location.hash.includes("=")) { restore(); update(); } });
  restore();
  update();
})();
