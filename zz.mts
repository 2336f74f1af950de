import { mkdirSync, writeFileSync, cpSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { catalogFiles } from './test/doubles/rendered-files.ts';
import { checkValue } from './source/catalog/field-types.ts';
import { checkSiteName, siteText } from './source/stack/proxy-site.ts';
import { parse } from 'yaml';
const cat = await catalogFiles();
const nasty = ["'",'"',"a'b",'a"b','$HOME','${HOME}','a$$b','#x','a #b','a%b','%d','a\\b','\\','a\nb',' a','a ','a\tb','{','}','{a}','{{a}}','{$X}','{env.HOME}','ü','日本.example','a'.repeat(255),'a'.repeat(63)+'.example','*','*.example.org','a,b','a;b','`id`','$(id)','[a]','!x','&x','*x','@x','>','|','?','-','~','null','true','1','0','1.5','0x10','1e3','yes','::1','[::1]','fe80::1%eth0','[fe80::1%eth0]','[::1]:53','127.0.0.1','0.0.0.0','1.2.3.4:5','a:1',':1','/a','/a b','/a"b',"/a'b",'/a\\b','/a#b','/a{b','/a$b','./a','{"a": "b"}','{"10.1.0.2": ["a:1"]}','{"10.1.0.2": "a"}','{"10.1.0.2": ["a"]}','{"x": ["a:1"]}','{"10.1.0.2": []}','{"10.1.0.2": [1]}','{"10.1.0.2": ["[::1]:4242"]}','{"10.1.0.2": ["::1:4242"]}','{"10.1.0.2": ["a b:1"]}','{"10.1.0.2": null}','{"10.1.0.2": ["a:99999"]}','{"fd00::1": ["a:1"]}','{}','{"__proto__": ["a:1"]}','10.1.0.2','10.1.0.2, 10.1.0.3','fd00::1','::','10.1.0.1','any/any/any','22/tcp/a','0/tcp/any','70000/tcp/any','5-2/tcp/any','22/icmp/any','fragment/udp/any','22/tcp/a.b','any/any/-x','22/tcp/true','22/tcp/1.0','22/tcp/.','010/tcp/any','1-70000/udp/any','any/any/null','0.0.0.0:1','localhost','-a','a-','a..b','.','a.','A.B','xn--mnchen-3ya.de','a_b','a/b','a b'];
const only = process.argv[2];
// nebula
if(!only||only==='nebula'){
 const member={STATIC_HOST_MAP:'{"10.1.0.2": ["127.0.0.1:4242"]}',AM_LIGHTHOUSE:'false',LIGHTHOUSE_HOSTS:'10.1.0.2'};
 const entry=cat.entries.get('overlay-mesh')!;
 for (const f of entry.fields) { if(!f.env||f.secret) continue; let n=0;
  for (const v of nasty) { if (checkValue(f,v)!==undefined) continue; n++;
   const base = /LIGHTHOUSE_HOSTS/.test(f.env)? {...member, STATIC_HOST_MAP: JSON.stringify(Object.fromEntries(v.split(',').map(x=>[x.trim(),['127.0.0.1:4242']]))) } : f.env==='STATIC_HOST_MAP' ? {AM_LIGHTHOUSE:'true'} : member;
   let text=cat.files('overlay-mesh',{...base,[f.env]:v} as any)['files/config.yml']!;
   const dir='/tmp/qd10/B/tmp/fz/n'; rmSync(dir,{recursive:true,force:true}); mkdirSync(dir,{recursive:true}); cpSync('/tmp/qd10/B/tmp/fz/keys',dir,{recursive:true});
   text=text.replaceAll('/etc/nebula',dir);
   writeFileSync(join(dir,'config.yml'),text);
   const r=spawnSync('nebula',['-test','-config',join(dir,'config.yml')],{encoding:'utf8'});
   let ok=r.status===0; const out=(r.stdout+r.stderr).trim().split('\n').pop()!;
   if(f.env.startsWith('PKI_') && !ok) { ok = out.includes(JSON.stringify(JSON.stringify(v).slice(1,-1)).slice(1,-1)) || out.includes(v) || out.includes(JSON.stringify(v).slice(1,-1)); }
   if(!ok) console.log('NEBULA',f.env,JSON.stringify(v).slice(0,80),out.slice(0,220));
   else if (r.stderr.includes('level=warn')||/level=error/.test(out)) console.log('  warn',f.env,JSON.stringify(v).slice(0,60),out.slice(0,200));
  } console.log('nebula',f.env,'accepted',n); }
}
if(!only||only==='caddy'){
 let n=0; for (const v of nasty) { if (checkSiteName(v)!==undefined) continue; n++;
  for (const port of [80]) {
  const text=siteText({host:v, upstream:{host:'app',port,scheme:'http'} as any, routes:[], websocket:false} as any);
  const file='/tmp/qd10/B/tmp/fz/Caddyfile'; writeFileSync(file,text);
  const r=spawnSync('caddy',['validate','--adapter','caddyfile','--config',file],{encoding:'utf8',env:{PATH:process.env.PATH!,HOME:'/tmp/qd10/B/tmp/fz'}});
  if(r.status!==0) console.log('CADDY site',JSON.stringify(v).slice(0,80),(r.stdout+r.stderr).trim().split('\n').pop()!.slice(0,220));
  } } console.log('caddy site accepted',n);
 for (const [id,env] of [['zero-trust-gateway','SITE_NAME'],['mesh-vpn-platform','NETBIRD_DOMAIN']] as const) {
  const f=cat.entries.get(id)!.fields.find(x=>x.env===env)!; let n=0;
  for (const v of nasty) { if (checkValue(f,v)!==undefined) continue; n++;
   const file='/tmp/qd10/B/tmp/fz/Caddyfile'; cpSync(`catalog/vpn/${id}/files/Caddyfile`,file);
   const r=spawnSync('caddy',['validate','--adapter','caddyfile','--config',file],{encoding:'utf8',env:{PATH:process.env.PATH!,HOME:'/tmp/qd10/B/tmp/fz',[env]:v}});
   if(r.status!==0) console.log('CADDY',id,JSON.stringify(v).slice(0,80),(r.stdout+r.stderr).trim().split('\n').pop()!.slice(0,220));
   } console.log('caddy',id,'accepted',n);
 }
}
