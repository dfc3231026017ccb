import { readFile, stat } from 'node:fs/promises'
import { extname } from 'node:path'
import type { ParseError } from 'jsonc-parser'
import { gatewayError, reasonOf } from '../../errors/errors.ts'
import { isObject, type JsonObject } from '../../protocol/json/json.ts'

/** More is no list of servers. */
const LARGEST = 4 * 1024 * 1024

/** Reads another program's settings: JSON (with comments and trailing commas), TOML or YAML, told by the file's name. */
export async function readSettings(file: string): Promise<JsonObject> {
  const text = await textOf(file)
  let value: unknown
  try {
    value = await parse(text, extname(file).toLowerCase())
  } catch (error) {
    throw unreadable(file, reasonOf(error).split('\n')[0] ?? '')
  }
  if (!isObject(value)) throw unreadable(file, 'it holds no map')
  return value
}

async function textOf(file: string): Promise<string> {
  try {
    // A pipe or a device would be read for ever.
    const found = await stat(file)
    if (!found.isFile()) throw new Error('it is no file')
    if (found.size > LARGEST) throw new Error(`it is larger than ${LARGEST} bytes`)
    return decode(await readFile(file))
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw unreadable(file, isMissing ? 'there is no such file' : reasonOf(error))
  }
}

/** UTF-8, or the UTF-16 that programs on Windows write; without a byte order mark it is known by its zeros. */
function decode(bytes: Buffer): string {
  const [first, second] = bytes
  const isLittle = (first === 0xff && second === 0xfe) || (first !== 0 && second === 0)
  const isBig = (first === 0xfe && second === 0xff) || (first === 0 && second !== 0)
  return new TextDecoder(isLittle ? 'utf-16le' : isBig ? 'utf-16be' : 'utf-8').decode(bytes)
}

async function parse(text: string, extension: string): Promise<unknown> {
  if (extension === '.toml') return (await import('smol-toml')).parse(text)
  if (extension === '.yaml' || extension === '.yml')
    return (await import('../../config/source/plain-yaml.ts')).fromYaml(text)
  return parseJson(text)
}

async function parseJson(text: string): Promise<unknown> {
  const { parse: parseJsonc, printParseErrorCode } = await import('jsonc-parser')
  const errors: ParseError[] = []
  const value: unknown = parseJsonc(text, errors, { allowTrailingComma: true })
  const [first] = errors
  if (first === undefined) return value
  const line = text.slice(0, first.offset).split('\n').length
  throw new Error(`line ${line}: ${printParseErrorCode(first.error)}`)
}

function unreadable(file: string, why: string): Error {
  return gatewayError('GW_IMPORT', { file, why })
}
