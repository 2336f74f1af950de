export interface Contrast {
  text: string;
  ratio: number;
  required: number;
}

/** Runs in the page, so it has everything it uses. Returns the contrast of each visible text to its background. */
export function contrastOf(): Contrast[] {
  type Colour = readonly [red: number, green: number, blue: number, alpha: number];
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  if (!canvas) return [];
  const parse = (colour: string): Colour => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [red = 0, green = 0, blue = 0, alpha = 0] = canvas.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = ([red, green, blue, alpha]: Colour, below: Colour): Colour => [
    red * alpha + below[0] * (1 - alpha),
    green * alpha + below[1] * (1 - alpha),
    blue * alpha + below[2] * (1 - alpha),
    1,
  ];
  const behind = (element: Element | null): Colour => {
    if (!element) return [255, 255, 255, 1];
    const own = parse(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, behind(element.parentElement));
  };
  const channel = (value: number) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([red, green, blue]: Colour) => 0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue);

  const found: Contrast[] = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.textContent?.trim() ?? '';
    if (!element || text === '' || /^\u200b?$/.test(text) || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
      continue;
    const style = getComputedStyle(element);
    const background = behind(element);
    const [one, other] = [luminance(over(parse(style.color), background)), luminance(background)];
    const size = Number.parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    found.push({
      text: text.slice(0, 40),
      ratio: (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05),
      required: isLarge ? 3 : 4.5,
    });
  }
  return found;
}
