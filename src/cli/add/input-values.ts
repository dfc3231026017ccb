import type { JsonObject } from '../../protocol/json/json.ts'
import { isSecretName } from '../../util/secrets.ts'
import type { AskQuestion } from '../output/prompt.ts'
import { canAsk, withQuestions } from '../output/prompt.ts'
import type { Host, Terminal } from '../output/terminal.ts'
import type { Answers, Input } from './registry-inputs.ts'
import { formatFlag, getInputKey, escapeReferences, findMissingInputs } from './registry-inputs.ts'
import { createUsageError } from './add-target.ts'

/** Unparsed flag values. */
export interface ValueFlags {
  readonly 'env-var'?: readonly string[] | undefined
  readonly header?: readonly string[] | undefined
  readonly arg?: readonly string[] | undefined
}

/** Parses input values from flags. @throws GatewayError GW_USAGE */
export function parseAnswers(flags: ValueFlags): Map<string, string> {
  const answers = new Map<string, string>()
  for (const text of flags['env-var'] ?? [])
    setAnswer('env', /^([A-Za-z_]\w*)=(.*)$/s.exec(text), text, '--env-var KEY=value')
  for (const text of flags.arg ?? []) setAnswer('arg', /^([^=]+)=(.*)$/s.exec(text), text, '--arg name=value')
  for (const text of flags.header ?? [])
    setAnswer('header', /^([^:\s]+):\s*(.*)$/s.exec(text), text, "--header 'Name: value'")
  return answers
  function setAnswer(kind: Input['kind'], parts: RegExpExecArray | null, text: string, form: string): void {
    if (parts === null) throw createUsageError(`"${text.slice(0, 60)}" must have the form ${form}`)
    answers.set(getInputKey({ kind, name: parts[1] ?? '' }), parts[2] ?? '')
  }
}

/** Prompts for missing required inputs. @throws GatewayError GW_USAGE without a terminal */
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
      `missing values: ${open.map(input => formatFlag(input).replace('--env ', '--env-var ')).join(', ')}`,
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

/** Upstream with references in place of secrets, and the secret files. */
export interface SecretPlacement {
  readonly upstream: JsonObject
  readonly files: readonly { readonly file: string; readonly value: string; readonly location: string }[]
}

/** Moves literal secrets to separate files and replaces them with references. Existing references stay unchanged. */
export function moveSecretsToFiles(
  upstream: JsonObject,
  name: string,
  inputs: readonly Input[],
  answers: Answers,
): SecretPlacement {
  const files: { file: string; value: string; location: string }[] = []
  const secret = new Set(inputs.filter(({ isSecret }) => isSecret).map(getInputKey))
  const moveSecrets = (kind: 'env' | 'header', map: unknown): JsonObject =>
    Object.fromEntries(
      Object.entries(map as JsonObject).map(([key, value]) => {
        const answer = answers.get(getInputKey({ kind, name: key }))
        const isSecret = secret.has(getInputKey({ kind, name: key })) || isSecretName(key)
        if (answer === undefined || !isSecret || answer.includes('${')) return [key, value]
        const file = `${name}-${key.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`
        files.push({ file, value: answer, location: `${kind} ${key}` })
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
