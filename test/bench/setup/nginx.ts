/** nginx as a reverse proxy, where it is installed: what a program in C does with the same bytes. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Children, Started } from './children.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { listening } from './ports.ts'

/** Says whether there is one on the PATH. */
export function hasNginx(): boolean {
  return nginxVersion() !== undefined
}

/** Such as `1.22.1`; undefined where it is not installed. */
export function nginxVersion(): string | undefined {
  try {
    // nginx writes its version to stderr.
    const text = execFileSync('sh', ['-c', 'nginx -v 2>&1'], { encoding: 'utf8' })
    return /nginx\/(\S+)/.exec(text)?.[1]
  } catch {
    return undefined
  }
}

/** Starts one in front of `url`, in one process, with what it writes in `directory`. Its URL is what was found. */
export async function startNginx(children: Children, url: URL, directory: string): Promise<Started> {
  const port = await freePort()
  const file = join(directory, 'nginx.conf')
  writeFileSync(file, confOf(port, url.host, directory))
  const pid = children.run('nginx', ['-p', directory, '-e', join(directory, 'error.log'), '-c', file])
  await listening(port, 5000)
  return { pid, found: `http://127.0.0.1:${port}${url.pathname}` }
}

function confOf(port: number, target: string, directory: string): string {
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `daemon off; master_process off; worker_processes 1; pid ${directory}/nginx.pid;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 1000000000; client_max_body_size 8m; client_body_buffer_size 2m;
  proxy_buffers 16 128k; proxy_buffer_size 16k; proxy_max_temp_file_size 0; tcp_nodelay on;
  ${folders.map(name => `${name}_temp_path ${directory}/${name};`).join(' ')}
  upstream server { server ${target}; keepalive 256; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://server; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
`
}
