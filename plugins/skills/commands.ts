import type { CommandCall, JsonObject, PluginCommands } from '../../src/plugin.ts'
import { escapeInvisible, filterObjects, formatBytes, gatewayError, isObject } from '../../src/plugin.ts'
import { readText, readValue, RPC, suggestHint, toOneLine } from '../../src/plugin.ts'

const MAX_PAGES = 1000

export const commands: PluginCommands = {
  skills: {
    summary: 'List the skills of all servers.',
    description: 'Lists them as an unauthenticated client does. Uses the running gateway, or starts one temporarily.',
    examples: ['gateway skills', 'gateway skills --json'],
    gateway: 'any',
    async run(call) {
      const skills = await call.withGateway('whole', async ask => {
        const found = await fetchSkills(call, ask)
        for (const { name, problem, degraded } of filterObjects((await ask('ps')).upstreams))
          if (typeof (problem ?? degraded) === 'string') warn(call, `${String(name)}: ${String(problem ?? degraded)}`)
        return found.map(describeSkill)
      })
      call.print({ skills }, () => {
        if (skills.length === 0) return [call.out.paint('dim', 'no skills')]
        const rows = skills.map(({ name, upstream, files = 'dynamic', bytes, uri, description }) =>
          [name, upstream, files, bytes < 1024 ? `${bytes} B` : formatBytes(bytes), uri, description].map(toCell),
        )
        return call.table([['NAME', 'SERVER', 'FILES', 'SIZE', 'URI', 'DESCRIPTION'], ...rows])
      })
    },
  },
  'skills show': {
    summary: 'Show the files and the text of one skill.',
    description: 'Invisible characters are shown as \\u….',
    examples: ['gateway skills show skill://crm/refunds/SKILL.md'],
    gateway: 'any',
    args: { uri: { required: true, description: 'Its URI, as in "gateway skills".' } },
    run: call => call.withGateway('whole', ask => showSkill(call, ask)),
  },
}

type Ask = Parameters<Parameters<CommandCall['withGateway']>[1]>[0]

async function fetchSkills(call: CommandCall, ask: Ask): Promise<JsonObject[]> {
  // Waits until the servers have started.
  await ask('listing')
  const skills: JsonObject[] = []
  const cursors = new Set<string | undefined>()
  let cursor: string | undefined
  do {
    cursors.add(cursor)
    const params = cursor === undefined ? {} : { cursor }
    const { result, error } = await ask('client.request', { method: 'skills/list', params })
    // Without any skills no server has the method.
    if (error !== undefined && readValue(error, 'code') !== RPC.methodNotFound) throw createFailure(error)
    skills.push(...filterObjects(isObject(result) ? result.skills : []))
    cursor = readText(result, 'nextCursor')
  } while (!cursors.has(cursor) && cursors.size < MAX_PAGES)
  if (cursor !== undefined) warn(call, `skills are missing: stopped at page ${cursors.size} with cursor "${cursor}"`)
  return skills
}

function warn({ err }: CommandCall, text: string): void {
  err.line(`${err.paint('yellow', 'warning')} ${toOneLine(text)}`)
}

/** Returns an error that is shown as for `gateway call`. */
function createFailure(error: unknown): Error {
  return Object.assign(new Error(readText(error, 'message')), { name: 'RpcFailure', error })
}

function describeSkill(skill: JsonObject) {
  const uri = readText(skill, 'uri') ?? ''
  const files = Array.isArray(skill.resources) ? filterObjects(skill.resources) : undefined
  return {
    uri,
    upstream: uri.split('/')[2] ?? '',
    name: readText(skill, 'frontmatter', 'name') ?? '',
    description: readText(skill, 'frontmatter', 'description') ?? '',
    files: files?.length,
    bytes: (files ?? []).reduce((sum, { size }) => sum + Number(size), 0),
  }
}

async function showSkill(call: CommandCall, ask: Ask): Promise<void> {
  const uri = call.args.uri ?? ''
  const skills = await fetchSkills(call, ask)
  const askServer = async (method: string): Promise<unknown> => {
    const { result, error } = await ask('client.request', { method, params: { uri } })
    const isUnknown = method === 'skills/get' && readValue(error, 'code') !== RPC.internal
    if (error !== undefined && !isUnknown) throw createFailure(error)
    return result
  }
  // A server need not list all its skills.
  const skill = skills.find(one => one.uri === uri) ?? readValue(await askServer('skills/get'), 'skill')
  if (!isObject(skill)) {
    const uris = skills.map(one => String(one.uri))
    const hint = suggestHint(uri, uris)
    const what = `unknown skill "${toOneLine(uri)}"${hint || ' – run "gateway skills" to list all'}`
    throw gatewayError('GW_USAGE', { what })
  }
  const [{ text, blob = '' } = {}] = filterObjects(readValue(await askServer('resources/read'), 'contents'))
  const shown = text ?? `binary, ${Buffer.from(String(blob), 'base64').length} B`
  call.print({ skill, ...(text === undefined ? { blob } : { text }) }, () => [
    ...call.table(
      filterObjects(skill.resources).map(file => [file.uri, `${String(file.size)} B`, file.digest].map(toCell)),
    ),
    ...escapeInvisible(String(shown)).split('\n'),
  ])
}

function toCell(value: unknown): string {
  return toOneLine(String(value))
}
