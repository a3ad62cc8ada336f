/** Charts: uPlot in the page's colours, as wide as their place, with a description for screen readers. */

import uPlot from "../vendor/uplot/uPlot.esm.js";
import { element } from "./dom.js";
import { short } from "./words.js";

const HEIGHT = 250;
/** Lines differ in colour and in their dashes. */
const DASHES = [[], [8, 4], [2, 4], [10, 4, 2, 4]];
/** Where a screen is dark or light can change while the page is open. */
const dark = matchMedia("(prefers-color-scheme: dark)");

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const lineColour = (place) => colour(`--line-${1 + (place % 4)}`);
function axis(label, size) {
  return {
    label,
    size,
    labelSize: 24,
    font: "12px system-ui, sans-serif",
    labelFont: "13px system-ui, sans-serif",
    stroke: colour("--soft"),
    grid: { stroke: colour("--rule"), width: 1 },
    ticks: { stroke: colour("--rule"), width: 1, size: 4 },
  };
}

/** A number in little room: 20k, 1.5M. */
function compact(value) {
  if (value === null) return "";
  return value >= 1000 ? Intl.NumberFormat("en", { notation: "compact" }).format(value) : short(value, 4);
}

/** Lines at 1, 2 and 5 times a power of ten, or at fewer where there is no room for so many. */
function roundNumbers(least, most, room) {
  const powers = Array.from({ length: 40 }, (_, place) => place - 20);
  const choices = [[1, 2, 5], [1, 3], [1]].map((leads) =>
    powers.flatMap((power) => leads.map((lead) => Number(`${lead}e${power}`))).filter((each) => each >= least && each <= most),
  );
  return choices.find((each) => each.length <= room) ?? choices.at(-1);
}

/** `space` is what a label needs, in pixels. */
function logarithmic(drawn, space) {
  drawn.splits = (plot, place, least, most) => roundNumbers(least, most, (place ? HEIGHT : plot.width) / space - 1);
  drawn.filter = drawn.grid.filter = drawn.ticks.filter = (_, splits) => splits;
}

/** A logarithmic scale that ends a little beyond the data. */
const LOG = { distr: 3, range: (_, least, most) => [least / 1.15, most * 1.15] };

function axes({ x, y }) {
  const across = { ...axis(x.label, 34), space: 56, values: (_, splits) => splits.map(compact) };
  const up = { ...axis(y.label, 58), values: (_, splits) => splits.map(compact) };
  if (x.log) logarithmic(across, 50);
  if (y.log) logarithmic(up, 22);
  return [across, up];
}

/** A vertical line at what is chosen. */
function drawMark(plot, at) {
  if (!at || at < plot.scales.x.min || at > plot.scales.x.max) return;
  const place = Math.round(plot.valToPos(at, "x", true));
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colour("--soft");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(place, bbox.top);
  ctx.lineTo(place, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

/** The edges of a band have no line of their own. */
const edge = (label) => ({ label, stroke: "transparent", width: 0, points: { show: false } });

/** @param {Wanted} wanted */
function seriesOf({ lines, band, stepped }) {
  const made = lines.map(([label, place]) => ({
    label,
    stroke: lineColour(place),
    width: 2.5,
    dash: DASHES[Number(place) % DASHES.length],
    points: { show: !stepped, size: 7, fill: lineColour(place) },
    paths: stepped ? uPlot.paths.stepped({ align: 1 }) : undefined,
    value: (_, value) => short(value, 4),
  }));
  return [{ label: "" }, ...made, ...(band ? [edge("to"), edge("from")] : [])];
}

/**
 * @typedef {object} Wanted what a chart shows: lines as their label and colour, a band, a range, a mark
 * @property {{ label: string, log?: boolean }} x
 * @property {{ label: string, log?: boolean }} y
 * @property {(string | number)[][]} lines
 * @property {boolean} [band]
 * @property {boolean} [stepped]
 * @property {number[]} [range]
 * @property {() => number} [mark]
 */

/**
 * A chart in a place of its own. `show(data, words)` draws columns of numbers (x first; with `band`, upper
 * and lower ends last) and describes them.
 *
 * @param {Wanted} wanted
 */
export function chart(wanted) {
  const where = element("div", { class: "chart", role: "img" });
  let [plot, data] = [null, null];

  function build() {
    plot?.destroy();
    const count = wanted.lines.length;
    plot = new uPlot(
      {
        width: Math.max(200, where.clientWidth),
        height: HEIGHT,
        padding: [12, 16, 0, 0],
        series: seriesOf(wanted),
        bands: wanted.band ? [{ series: [count + 1, count + 2], fill: colour("--band") }] : [],
        axes: axes(wanted),
        scales: {
          x: { time: false, ...(wanted.x.log ? LOG : {}) },
          y: wanted.y.log ? LOG : { range: wanted.range },
        },
        legend: { show: count > 1, live: false, markers: { fill: (each, place) => each.series[place].stroke(each, place) } },
        cursor: { show: false },
        hooks: wanted.mark ? { draw: [(each) => drawMark(each, wanted.mark())] } : {},
      },
      data,
      where,
    );
  }

  new ResizeObserver(() => plot?.setSize({ width: Math.max(200, where.clientWidth), height: HEIGHT })).observe(where);
  dark.addEventListener("change", () => data && build());
  return {
    where,
    show(columns, words) {
      data = columns;
      where.setAttribute("aria-label", words);
      if (plot) plot.setData(data);
      else build();
    },
  };
}
