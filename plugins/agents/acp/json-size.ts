/** Whether a value read from JSON has more than so many characters; stops counting there. */
export function isHeavierThan(limit: number, value: unknown): boolean {
  let left = limit
  const open: unknown[] = [value]
  while (open.length > 0 && left >= 0) {
    const next = open.pop()
    left -= typeof next === 'string' ? next.length + 2 : 4
    if (typeof next !== 'object' || next === null) continue
    for (const [key, member] of Object.entries(next)) {
      left -= key.length + 3
      open.push(member)
    }
  }
  return left < 0
}
