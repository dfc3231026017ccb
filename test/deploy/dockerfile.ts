/** One instruction of a Dockerfile. */
export interface Instruction {
  readonly name: string
  readonly text: string
}

/** One stage, with what it begins with. */
export interface Stage {
  readonly name: string
  readonly from: string
  readonly instructions: readonly Instruction[]
}

/** Reads a Dockerfile: its stages, and the arguments before the first. */
export function readDockerfile(text: string): {
  readonly args: ReadonlyMap<string, string>
  readonly stages: readonly Stage[]
} {
  const lines = text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, ' ')
    .split('\n')
    .filter(line => line.trim() !== '')
  const args = new Map<string, string>()
  const stages: { name: string; from: string; instructions: Instruction[] }[] = []
  for (const line of lines) {
    const [, name = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? []
    if (name === '') throw new Error(`no instruction: ${line}`)
    const stage = stages.at(-1)
    if (name === 'FROM') {
      stages.push({ ...begunBy(rest, args), instructions: [] })
    } else if (stage === undefined) args.set(...pairOf(rest))
    else stage.instructions.push({ name, text: rest })
  }
  return { args, stages }
}

function begunBy(text: string, args: ReadonlyMap<string, string>): { name: string; from: string } {
  const [, from = '', name = ''] = /^(\S+) AS (\S+)$/.exec(text) ?? []
  return { name, from: from.replace(/\$\{(\w+)\}/, (_all, arg: string) => args.get(arg) ?? '') }
}

function pairOf(text: string): [string, string] {
  const at = text.indexOf('=')
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}
