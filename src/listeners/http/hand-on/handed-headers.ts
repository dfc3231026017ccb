/** Only read where clients do not reach: proves that a process of this gateway hands a request on, and says of which listener. */
export const HANDED = 'x-tapgate-handed'

const LENGTH = 'content-length'

const OF_ONE_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'expect',
  HANDED,
])

/** The headers of an answer that go on to its client. */
export function passedOn(lines: readonly string[]): string[] {
  return without(lines, name => OF_ONE_CONNECTION.has(name))
}

/** The headers of a request that go on with its body, whose length is said anew. */
export function handedOn(lines: readonly string[]): string[] {
  return without(lines, name => name === LENGTH || OF_ONE_CONNECTION.has(name))
}

function without(lines: readonly string[], isLeftOut: (name: string) => boolean): string[] {
  const kept: string[] = []
  for (let at = 0; at + 1 < lines.length; at += 2) {
    const name = lines[at] as string
    if (!isLeftOut(name.toLowerCase())) kept.push(name, lines[at + 1] as string)
  }
  return kept
}

/** True for an answer that the other process gave as such, and not one that its listener gave a client. */
export function isFromProcess(lines: readonly string[]): boolean {
  return lines.some((name, index) => index % 2 === 0 && name.toLowerCase() === HANDED)
}
