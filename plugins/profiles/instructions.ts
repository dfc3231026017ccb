import type { Config, Upstream } from '../../src/plugin.ts'
import type { Profile } from './profiles.ts'

/** What a client of this profile is told: nothing of upstreams that it does not show. */
export function instructionsOf(
  profile: Profile,
  upstreams: readonly Upstream[],
  config: Config,
): string | undefined {
  const said = profile.instructions ?? config.server.instructions
  if (said !== undefined) return said
  const shown = upstreams.filter(({ name }) => profile.has(name))
  const texts = shown.flatMap(({ name, server }) =>
    server?.instructions === undefined ? [] : [{ name, text: server.instructions }],
  )
  if (texts.length === 0) return undefined
  const isOnly = shown.length === 1
  return texts.map(({ name, text }) => (isOnly ? text : `# ${name}\n${text}`)).join('\n\n')
}
