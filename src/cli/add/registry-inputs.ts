import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { readMap, readText } from '../../util/plain-data.ts'
import { toOneLine } from '../../util/plain-text.ts'

/** Part of an upstream that a value goes into. */
export type InputKind = 'env' | 'header' | 'arg'

/** A value that its user gives. */
export interface Input {
  readonly kind: InputKind
  readonly name: string
  readonly description: string
  readonly isRequired: boolean
  readonly isSecret: boolean
  readonly fallback: string | undefined
  readonly choices: readonly string[]
}

/** Values by kind and name, as `env API_KEY`. They may hold references such as `${API_KEY}`. */
export type Answers = ReadonlyMap<string, string>

export function getInputKey({ kind, name }: Pick<Input, 'kind' | 'name'>): string {
  return `${kind} ${kind === 'header' ? name.toLowerCase() : name}`
}

/** Text of a registry as a text of ours: a reference in it is none, as that could run programs and read files. */
export function escapeReferences(text: string): string {
  return text.replaceAll('${', () => '$${')
}

/** A value that a registry describes: fixed, or asked for. */
export interface InputValue {
  readonly inputs: readonly Input[]
  /** The value with the answers in it; undefined where it is left out. */
  readonly value: (answers: Answers) => string | undefined
}

/** Reads one input of a `server.json`. Variables of a fixed value are inputs of their own. */
export function parseInputValue(given: JsonObject, kind: InputKind, name: string): InputValue {
  const value = readText(given, 'value')
  const variables = Object.entries(readMap(given, 'variables')).filter(([, about]) => isObject(about))
  if (value === undefined) return createPromptedValue(parseInput(given, kind, name))
  const own = variables.map(([variable, about]) => parseInput(about as JsonObject, 'arg', variable))
  const known = new Map(own.map(input => [input.name, input]))
  return {
    inputs: own,
    value: answers =>
      escapeReferences(value).replace(/\{([\w.-]+)\}/g, (whole, variable: string) => {
        const input = known.get(variable)
        return input === undefined ? whole : (getAnswer(input, answers) ?? '')
      }),
  }
}

function createPromptedValue(input: Input): InputValue {
  return { inputs: [input], value: answers => getAnswer(input, answers) }
}

/** The answer to one input: what was given, or what the registry says where nothing was. */
export function getAnswer(input: Input, answers: Answers): string | undefined {
  const { fallback } = input
  return answers.get(getInputKey(input)) ?? (fallback === undefined ? undefined : escapeReferences(fallback))
}

function parseInput(given: JsonObject, kind: InputKind, name: string): Input {
  const choices = Array.isArray(given.choices) ? given.choices.filter(one => typeof one === 'string') : []
  return {
    ...{ kind, name, choices },
    description: toOneLine(readText(given, 'description') ?? '').slice(0, 200),
    isRequired: given.isRequired === true,
    isSecret: given.isSecret === true,
    fallback: readText(given, 'default'),
  }
}

/** Inputs without which a server cannot be started. */
export function findMissingInputs(inputs: readonly Input[], answers: Answers): Input[] {
  return inputs.filter(input => input.isRequired && (getAnswer(input, answers) ?? '') === '')
}

/** The flag that gives an input. */
export function formatFlag({ kind, name }: Input): string {
  return kind === 'header' ? `--header '${name}: …'` : `--${kind} ${name}=…`
}
