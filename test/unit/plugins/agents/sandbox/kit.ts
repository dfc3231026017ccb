import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { ClientSideOptions } from '../../../../../plugins/agents/sandbox/gateway-files.ts'
import type { AgentSettings } from '../../../../../plugins/agents/types/settings.ts'
import { createGateway, type Plugin } from '../../../../../src/index.ts'
import type { Programs } from '../../../../../src/plugin.ts'
import { systemClock } from '../../../../../src/util/clock.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'

const NO_PROGRAMS: Programs = {
  environment: () => ({}),
  launch: () => Promise.reject(new Error('no program runs in this test')),
  output: () => Promise.reject(new Error('no program runs in this test')),
  endOrphans: () => Promise.resolve(),
}

/** One task in a directory, for whose agent the gateway does what is said. */
export function clientOptions(
  directory: string,
  client: Partial<AgentSettings['client']>,
  programs: Programs = NO_PROGRAMS,
): ClientSideOptions {
  const off = { readFiles: false, writeFiles: false, maxFile: 64 * 1024, terminal: undefined }
  return {
    settings: {
      id: 'agent',
      client: { ...off, ...client },
      inheritEnv: ['PATH'],
      sandbox: undefined,
      ceilings: undefined,
    },
    directory,
    files: [],
    programs,
    clock: systemClock,
  }
}

/** The programs of a real gateway, which ends with the test. */
export async function programsFor(t: TestContext): Promise<Programs> {
  const given = Promise.withResolvers<Programs>()
  const plugin: Plugin = { name: 'gives-programs', setup: api => given.resolve(api.programs) }
  const directory = mkdtempSync(join(tmpdir(), 'contain-gateway-'))
  const gateway = await createGateway({}, { plugins: [plugin], directory })
  cleanup(t, async () => {
    await gateway.close()
    rmSync(directory, { recursive: true, force: true })
  })
  return given.promise
}
