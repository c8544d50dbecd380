// Squarified treemap: cells as near to squares as they come, the largest first.
function squarify(values, x, y, width, height) {
  const total = values.reduce((sum, value) => sum + value, 0);
  const cells = [];
  if (!(total > 0) || !(width > 0) || !(height > 0)) return cells;
  const scale = (width * height) / total;
  let start = 0;
  while (start < values.length) {
    const side = Math.min(width, height);
    let sum = 0;
    let best = Infinity;
    let end = start;
    // A row takes cells for as long as its worst one gets no longer and thinner.
    while (end < values.length) {
      const next = sum + values[end] * scale;
      const thick = next / side;
      const worst = Math.max(thick / ((values[end] * scale) / thick),
        ((values[start] * scale) / thick) / thick);
      if (worst > best) break;
      best = worst;
      sum = next;
      end++;
    }
    const last = end === values.length;
    const thick = last ? (side === height ? width : height) : sum / side;
    let along = 0;
    for (let i = start; i < end; i++) {
      const long = (values[i] * scale) / (sum / side);
      cells.push(side === height
        ? { x, y: y + along, width: thick, height: long }
        : { x: x + along, y, width: long, height: thick });
      along += long;
    }
    if (side === height) { x += thick; width -= thick; } else { y += thick; height -= thick; }
    start = end;
  }
  return cells;
}
