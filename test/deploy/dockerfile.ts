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

type Check = (stages: readonly Stage[]) => readonly string[]

const SECRET = /TOKEN|PASSWORD|SECRET|_KEY\b/i
const JSON_FORM: ReadonlySet<string> = new Set(['CMD', 'ENTRYPOINT', 'VOLUME'])

/** Mistakes that are known from Dockerfiles. Each check names what breaks it. */
export const CHECKS: Readonly<Record<string, Check>> = {
  'images have a version': stages =>
    stages
      .filter(
        ({ from }) =>
          stages.every(({ name }) => name !== from) && (!from.includes(':') || from.endsWith(':latest')),
      )
      .map(({ from }) => from),
  'every stage has a name of its own': stages => repeated(stages.map(({ name }) => name)),
  'files are copied from stages that are there': stages =>
    all(stages, 'COPY').filter(text => {
      const [, from] = /--from=(\S+)/.exec(text) ?? []
      return from !== undefined && stages.every(({ name }) => name !== from)
    }),
  'nothing is fetched by ADD': stages => all(stages, 'ADD'),
  'nothing runs what it has just fetched': stages =>
    all(stages, 'RUN').filter(text => /(curl|wget)[^|]*\|\s*(ba)?sh|\bsudo\b/.test(text)),
  'signals reach the program: no shell form': stages =>
    stages.flatMap(({ instructions }) =>
      instructions
        .filter(
          ({ name, text }) => (JSON_FORM.has(name) && !text.startsWith('[')) || isShellCheck(name, text),
        )
        .map(({ name, text }) => `${name} ${text}`),
    ),
  'no secret is an argument or a variable': stages =>
    [...all(stages, 'ARG'), ...all(stages, 'ENV')].filter(text => SECRET.test(text)),
  'directories are absolute': stages => all(stages, 'WORKDIR').filter(text => !text.startsWith('/')),
  'apt takes no more than is named, and leaves no lists': stages =>
    all(stages, 'RUN').filter(
      text =>
        text.includes('apt-get') &&
        !(
          text.includes('apt-get update') &&
          text.includes('--no-install-recommends') &&
          text.includes('rm -rf /var/lib/apt/lists/*')
        ),
    ),
  'pip and npm install versions that are named': stages =>
    all(stages, 'RUN').filter(
      text => /pip install|npm install/.test(text) && !/==\$\{\w+\}|@\$\{\w+\}/.test(text),
    ),
  'no install script of a package runs': stages =>
    all(stages, 'RUN').filter(text => /npm (ci|install)/.test(text) && !text.includes('--ignore-scripts')),
  'caches stay outside': stages =>
    all(stages, 'RUN').filter(text => text.includes('pip install') && !text.includes('--no-cache-dir')),
}

function all(stages: readonly Stage[], wanted: string): string[] {
  return stages.flatMap(({ instructions }) =>
    instructions.filter(({ name }) => name === wanted).map(({ text }) => text),
  )
}

function isShellCheck(name: string, text: string): boolean {
  return name === 'HEALTHCHECK' && !/CMD \[/.test(text)
}

function repeated(names: readonly string[]): string[] {
  return names.filter((name, index) => name === '' || names.indexOf(name) !== index)
}
