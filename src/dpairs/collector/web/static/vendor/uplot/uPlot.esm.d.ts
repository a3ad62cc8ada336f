/** What the pages use of uPlot. */
export default class uPlot {
  constructor(options: any, data: number[][], where: HTMLElement);
  static paths: { stepped: (options: { align: number }) => unknown };
  scales: Record<string, { min: number; max: number }>;
  ctx: CanvasRenderingContext2D;
  bbox: { left: number; top: number; width: number; height: number };
  valToPos(value: number, scale: string, canvas?: boolean): number;
  setData(data: number[][]): void;
  setSize(size: { width: number; height: number }): void;
  destroy(): void;
}
