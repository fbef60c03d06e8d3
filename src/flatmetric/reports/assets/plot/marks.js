export { dot, frame, line, plot, pointer, rect, ruleX, ruleY, tip } from '@observablehq/plot';
