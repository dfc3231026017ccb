import { type JsonObject, isObject } from '../../protocol/json/json.ts'
import { plainText } from '../output/plain-text.ts'
import type { Output } from '../output/terminal.ts'

/** The tool, or its server, said no. */
const SAID_NO = 5

/** 0, or 5 where the result says that the tool failed. */
export function exitCode(result: JsonObject): number {
  return result['isError'] === true ? SAID_NO : 0
}

/** A result as people read it: its text as it is, everything else as a note of what it is. */
export function resultLines(result: JsonObject, output: Output): string[] {
  const content = Array.isArray(result['content']) ? result['content'].filter(isObject) : []
  const lines = content.map(block => contentText(block, output))
  if (lines.length > 0) return lines
  const rest = result['structuredContent'] ?? result
  return [JSON.stringify(rest, undefined, 2)]
}

function contentText(block: JsonObject, output: Output): string {
  const note = (text: string): string => output.paint('dim', `[${plainText(text)}]`)
  const resource = isObject(block['resource']) ? block['resource'] : {}
  switch (block['type']) {
    case 'text':
      return shown(String(block['text']), output)
    case 'image':
    case 'audio':
      return note(`${block['type']} ${textOf(block['mimeType'])}, ${sizeOf(block['data'])}`)
    case 'resource':
      return typeof resource['text'] === 'string'
        ? shown(resource['text'], output)
        : note(
            `resource ${textOf(resource['uri'])} ${textOf(resource['mimeType'])}, ${sizeOf(resource['blob'])}`,
          )
    case 'resource_link':
      return note(`resource ${textOf(block['uri'])} ${textOf(block['name'])}`)
    default:
      return shown(JSON.stringify(block, undefined, 2), output)
  }
}

// A file or the next program gets what was sent, a terminal only what cannot harm it.
function shown(text: string, output: Output): string {
  return output.width === undefined ? text : plainText(text)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function sizeOf(base64: unknown): string {
  const bytes = Math.floor((textOf(base64).length * 3) / 4)
  return bytes < 1024 ? `${bytes} B` : `${Math.round(bytes / 1024)} KiB`
}
