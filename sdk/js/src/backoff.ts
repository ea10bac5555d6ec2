/**
 * How long to wait before the attempt after `failures` failed ones, in milliseconds: growing, and anywhere
 * between a quarter of it and all of it, so that clients cut off together do not come back together.
 */
export function backoff(failures: number, first: number, longest: number, random: () => number): number {
  const whole = Math.min(longest, first * 1.7 ** Math.max(0, failures - 1));
  return whole * (0.25 + 0.75 * random());
}
