import assert from 'node:assert/strict'
import path from 'node:path'
import { it } from 'node:test'
import { ProcessQuota } from '../../../../src/processes/process-quota.ts'
import { PluginPrograms } from '../../../../src/processes/plugin-programs.ts'
import { createPrivateFile, PrivatePathSet } from '../../../../src/util/private-path.ts'
import { createLog } from '../../../../src/util/log.ts'
import { directoryWith, skip } from '../../../fixtures/sandbox.ts'
import { clock } from '../../fixtures/upstream-bench.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

const CANARY = 'canary-77d01e'

it(
  'an agent in a sandbox sees its task and its HOME, not the key, the tasks and the HOMEs of others',
  { skip },
  async t => {
    const directory = directoryWith(t, {
      'gateway.yaml': CANARY,
      'task/readme': 'task',
      'user/.bash_history': CANARY,
      'state/seal.key': CANARY,
      'state/agents.db': CANARY,
      'state/homes/other/token': CANARY,
      'state/homes/own/token': 'own',
    })
    const privatePlaces = new PrivatePathSet()
    privatePlaces.add([{ directory: `${directory}/state` }, createPrivateFile(directory, 'gateway.yaml')])
    const programs = new PluginPrograms({
      log: createLog({ level: 'error', format: 'json', write: () => undefined }),
      ...{ clock, directory, privatePlaces, hide: (text: string) => text },
      limiter: new ProcessQuota(4, 4),
      environment: { PATH: process.env.PATH, HOME: `${directory}/user` },
    })
    cleanup(t, () => programs.retirePrograms())
    const home = path.join(directory, 'state/homes/own')

    const said = await outputOf(programs, {
      cwd: `${directory}/task`,
      env: { PATH: '/usr/bin:/bin', HOME: home },
      writable: [home, `${directory}/task`],
      script: `cat readme ~/token; echo x >~/new && echo kept; echo x >made && echo made
      grep -rls ${CANARY} / --exclude-dir=proc --exclude-dir=usr --exclude-dir=dev; grep -ls ${CANARY} /proc/*/environ; echo end`,
    })

    assert.equal(said, 'taskownkept\nmade\nend\n')
  },
)

interface Script {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly writable: readonly string[]
  readonly script: string
}

function outputOf(programs: PluginPrograms, { script, ...spec }: Script): Promise<string> {
  const chunks: Buffer[] = []
  return new Promise((resolve, reject) => {
    programs
      .launch({
        ...spec,
        ...{ name: 'agent-own', command: 'sh', args: ['-c', script], sandbox: 'bwrap', maxLine: 0 },
        onLine: () => undefined,
        onOutput: chunk => chunks.push(chunk),
        onEnd: () => resolve(Buffer.concat(chunks).toString()),
      })
      .catch(reject)
  })
}
