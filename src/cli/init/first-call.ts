import { listAt, valueAt } from '../../util/plain-data.ts'
import type { JsonObject } from '../../protocol/json/json.ts'

/** Words of names that only look, in front of what they look at. */
const LOOKS: ReadonlySet<string> = new Set(['count', 'echo', 'get', 'list', 'ping', 'read', 'show', 'status'])
/** Names that end with these words only look, too. */
const HARMLESS: ReadonlySet<string> = new Set(['date', 'help', 'info', 'status', 'time', 'version'])
/** Words of names that change something, whatever stands before them. */
const CHANGES =
  /^(add|apply|cancel|clear|close|commit|create|delete|deploy|disable|drop|edit|enable|insert|install|kill|mark|move|pay|post|publish|purge|push|put|remove|rename|reset|restart|run|send|set|start|stop|submit|sync|toggle|trigger|update|upload|write)$/
const SECRET_NAME =
  /^(printenv|env|envs|environ|environment|variables?|vars?|config|configuration|settings|secrets?|tokens?|passwords?|passwd|credentials?|keys?|cookies?)$/
const SECRET_TEXT = /environment variable|process\.env|secret|credential|password/i

/** Name of the tool that is called best for a try: one that needs no arguments, only reads, and shows no secrets. */
export function firstCall(tools: readonly JsonObject[]): string | undefined {
  const [best] = tools
    .flatMap(tool => {
      const rank = rankOf(tool)
      return rank === undefined ? [] : [{ name: String(tool['name']), rank }]
    })
    .sort((a, b) => a.rank - b.rank)
  return best?.name
}

/** Smaller is better; undefined for a tool that nobody should call to see what happens. */
function rankOf(tool: JsonObject): number | undefined {
  const { name, description, inputSchema } = tool
  if (typeof name !== 'string' || listAt(inputSchema, 'required').length > 0) return undefined
  const words = wordsOf(name)
  if (words.some(word => SECRET_NAME.test(word)) || SECRET_TEXT.test(String(description))) return undefined
  const isReader = valueAt(tool, 'annotations', 'readOnlyHint')
  if (isReader === true) return isHarmless(words) ? 0 : 1
  const mayChange = isReader === false || valueAt(tool, 'annotations', 'destructiveHint') === true
  return !mayChange && isHarmless(words) ? 2 : undefined
}

/** Words of a name without the prefix of its server, in small letters. */
function wordsOf(name: string): string[] {
  const prefix = name.indexOf('__')
  return name
    .slice(prefix === -1 ? 0 : prefix)
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter(word => word !== '')
}

function isHarmless(words: readonly string[]): boolean {
  if (words.some(word => CHANGES.test(word))) return false
  return LOOKS.has(words[0] ?? '') || HARMLESS.has(words.at(-1) ?? '')
}
