import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { cleanup } from '../../fixtures/cleanup.ts'

const PROGRAM = '/usr/sbin/nginx'
const isThere = existsSync(PROGRAM)
const PATIENCE_MS = 20_000

/** Why tests behind nginx are left out: on a machine of somebody's own only. */
export const skipNginx =
  isThere || process.env.CI !== undefined
    ? false
    : `${PROGRAM} is not installed; apt-get install nginx-light brings it`

/** Real nginx before a gateway: all below `/tools/gw/` is passed on, by the `proxy_pass` that is given. Returns its origin. */
export async function startNginx(t: TestContext, proxyPass: string): Promise<string> {
  if (!isThere) throw new Error(`${PROGRAM} is not installed`)
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'))
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, configOf(port, proxyPass))
  const child = spawn(PROGRAM, ['-p', folder, '-c', file, '-e', join(folder, 'error.log')], {
    stdio: 'ignore',
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  cleanup(t, async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  const origin = `http://127.0.0.1:${port}`
  const end = Date.now() + PATIENCE_MS
  while (
    !(await fetch(origin)
      .then(() => true)
      .catch(() => false))
  ) {
    if (child.exitCode !== null || Date.now() > end) throw new Error('nginx does not run')
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return origin
}

/** As docs/ui.md has it, with all files in the folder of the test. */
function configOf(port: number, proxyPass: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
daemon off;
master_process off;
pid nginx.pid;
events {}
http {
  access_log off;
  ${kinds.map(kind => `${kind}_temp_path ${kind};`).join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    location /tools/gw/ {
      proxy_pass ${proxyPass};
      proxy_buffering off;
    }
  }
}
`
}

/** A port that was free a moment ago: nginx chooses none by itself. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise<void>(resolve => server.close(() => resolve()))
  return port
}
