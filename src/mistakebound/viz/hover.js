// Show the values of a chart at the position of the pointer, or of the arrow keys. Without this script, the page
// shows everything but these values.
"use strict";
const svgNames = "http://www.w3.org/2000/svg";

function nearest(points, x) {
  let low = 0, high = points.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < x) low = middle + 1; else high = middle;
  }
  if (low > 0 && x - points[low - 1][0] < points[low][0] - x) low -= 1;
  return points[low];
}

function keyOf(line) {  // as in the legend
  const key = document.createElementNS(svgNames, "svg");
  const shape = document.createElementNS(svgNames, line.look === "dot" ? "circle" : "line");
  const place = line.look === "dot" ? {cx: 11, cy: 5, r: 4} : {x1: 0, x2: 22, y1: 5, y2: 5};
  shape.setAttribute("class", (line.look === "dot" ? "" : "line ") + line.look + " c" + line.colour);
  for (const [name, value] of Object.entries(place)) shape.setAttribute(name, value);
  key.setAttribute("viewBox", "0 0 22 10");
  key.append(shape);
  return key;
}

function prepare(figure) {
  const data = JSON.parse(figure.querySelector("script").textContent);
  const lines = data.lines.filter(line => line.points.length > 0);
  if (lines.length === 0) return;
  const svg = figure.querySelector(":scope > svg");
  const cursor = document.createElementNS(svgNames, "line");
  cursor.setAttribute("class", "cursor");
  cursor.setAttribute("y1", data.axes.top);
  cursor.setAttribute("y2", data.axes.bottom);
  const box = document.createElement("div");
  box.className = "hover";
  box.setAttribute("role", "status");
  const longest = lines.reduce((a, b) => (b.points.length > a.points.length ? b : a)).points;
  let place = 0;

  function show(x) {
    const at = nearest(longest, x);
    place = longest.indexOf(at);
    cursor.setAttribute("x1", at[0]);
    cursor.setAttribute("x2", at[0]);
    svg.append(cursor);
    box.replaceChildren();
    const head = document.createElement("b");
    head.textContent = data.x + ": " + at[2];
    box.append(head);
    const shown = lines.map(line => ({line, point: nearest(line.points, at[0])}));
    if (figure.classList.contains("ends")) shown.sort((a, b) => a.point[1] - b.point[1]);
    for (const {line, point} of shown) {
      const row = document.createElement("div");
      row.append(keyOf(line), line.name + ": " + point[3] + (point[2] === at[2] ? "" : " (at " + point[2] + ")"));
      box.append(row);
    }
    figure.append(box);
    const scale = svg.clientWidth / svg.viewBox.baseVal.width;
    const left = at[0] * scale;
    const over = left + box.offsetWidth + 16 > figure.clientWidth;
    box.style.left = Math.max(0, over ? left - box.offsetWidth - 12 : left + 12) + "px";
    box.style.top = svg.getBoundingClientRect().top - figure.getBoundingClientRect().top + 8 + "px";
  }

  function hide() { cursor.remove(); box.remove(); }

  svg.addEventListener("pointermove", event => {
    const bounds = svg.getBoundingClientRect();
    show((event.clientX - bounds.left) * svg.viewBox.baseVal.width / bounds.width);
  });
  svg.addEventListener("pointerleave", hide);
  figure.addEventListener("blur", hide);
  figure.addEventListener("keydown", event => {
    if (event.key === "Escape") { hide(); return; }
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (step === undefined) return;
    event.preventDefault();
    let next = place;
    do next += step; while (longest[next] && longest[next][0] === longest[place][0]);  // several rounds of one date
    show((longest[next] || longest[place])[0]);
  });
}

document.querySelectorAll("figure.chart").forEach(prepare);
