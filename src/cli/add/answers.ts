import type { JsonObject } from '../../protocol/json/json.ts'
import { isSecretName } from '../../util/secrets.ts'
import type { AskQuestion } from '../output/prompt.ts'
import { canAsk, withQuestions } from '../output/prompt.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import type { Answers, Input } from './registry-inputs.ts'
import { formatFlag, getInputKey, escapeReferences, findMissingInputs } from './registry-inputs.ts'
import { createUsageError } from './add-target.ts'

/** Values of flags, as they were written. */
export interface ValueFlags {
  readonly 'env-var'?: readonly string[] | undefined
  readonly header?: readonly string[] | undefined
  readonly arg?: readonly string[] | undefined
}

/** The values that flags give. @throws GatewayError GW_USAGE */
export function parseAnswers(flags: ValueFlags): Map<string, string> {
  const answers = new Map<string, string>()
  for (const text of flags['env-var'] ?? [])
    setAnswer('env', /^([A-Za-z_]\w*)=(.*)$/s.exec(text), text, '--env-var KEY=value')
  for (const text of flags.arg ?? []) setAnswer('arg', /^([^=]+)=(.*)$/s.exec(text), text, '--arg name=value')
  for (const text of flags.header ?? [])
    setAnswer('header', /^([^:\s]+):\s*(.*)$/s.exec(text), text, "--header 'Name: value'")
  return answers
  function setAnswer(kind: Input['kind'], parts: RegExpExecArray | null, text: string, form: string): void {
    if (parts === null) throw createUsageError(`"${text.slice(0, 60)}" is not of the form ${form}`)
    answers.set(getInputKey({ kind, name: parts[1] ?? '' }), parts[2] ?? '')
  }
}

/** Asks for what is missing, where there is somebody to ask. @throws GatewayError GW_USAGE where there is nobody */
export async function promptForMissing(
  inputs: readonly Input[],
  answers: Map<string, string>,
  terminal: Terminal,
  host: Host,
): Promise<void> {
  const open = findMissingInputs(inputs, answers)
  if (open.length === 0) return
  if (!canAsk(terminal, host))
    throw createUsageError(
      `it needs ${open.map(input => formatFlag(input).replace('--env ', '--env-var ')).join(', ')}`,
    )
  await withQuestions(host, async ask => {
    for (const input of open) answers.set(getInputKey(input), await promptForInput(input, ask))
  })
}

async function promptForInput(input: Input, ask: AskQuestion): Promise<string> {
  const { name, description, choices } = input
  const about = [description, choices.length > 0 ? `one of ${choices.join(', ')}` : '']
    .filter(part => part !== '')
    .join('; ')
  for (;;) {
    const answer = (await ask(`${name}${about === '' ? '' : ` (${about})`}: `)).trim()
    if (answer !== '' && choices.length === 0) return answer
    if (choices.includes(answer)) return escapeReferences(answer)
  }
}

/** Values that were given as they are and are secrets, by the place that they go into. */
export interface SecretPlacement {
  readonly upstream: JsonObject
  readonly files: readonly { readonly file: string; readonly value: string; readonly place: string }[]
}

/** Puts each secret into a file of its own, and a reference in its place. References that were given stay. */
export function moveSecretsToFiles(
  upstream: JsonObject,
  name: string,
  inputs: readonly Input[],
  answers: Answers,
): SecretPlacement {
  const files: { file: string; value: string; place: string }[] = []
  const secret = new Set(inputs.filter(({ isSecret }) => isSecret).map(getInputKey))
  const moveSecrets = (kind: 'env' | 'header', map: unknown): JsonObject =>
    Object.fromEntries(
      Object.entries(map as JsonObject).map(([key, value]) => {
        const answer = answers.get(getInputKey({ kind, name: key }))
        const isSecret = secret.has(getInputKey({ kind, name: key })) || isSecretName(key)
        if (answer === undefined || !isSecret || answer.includes('${')) return [key, value]
        const file = `${name}-${key.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`
        files.push({ file, value: answer, place: `${kind} ${key}` })
        return [key, `\${file:./secrets/${file}}`]
      }),
    )
  return {
    files,
    upstream: {
      ...upstream,
      ...(upstream.env === undefined ? {} : { env: moveSecrets('env', upstream.env) }),
      ...(upstream.headers === undefined ? {} : { headers: moveSecrets('header', upstream.headers) }),
    },
  }
}
