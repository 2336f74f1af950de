<?php
// Everything from the environment, under the names of the upstream image's own file.
function from_environment( $name, $otherwise = '' ) {
	$value = getenv( "WORDPRESS_$name" );
	return $value === false ? $otherwise : $value;
}
define( 'DB_NAME', from_environment( 'DB_NAME', 'wordpress' ) );
define( 'DB_USER', from_environment( 'DB_USER' ) );
define( 'DB_PASSWORD', from_environment( 'DB_PASSWORD' ) );
define( 'DB_HOST', from_environment( 'DB_HOST', 'mysql' ) );
define( 'DB_CHARSET', from_environment( 'DB_CHARSET', 'utf8mb4' ) );
define( 'DB_COLLATE', from_environment( 'DB_COLLATE' ) );
foreach ( array( 'AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT' ) as $name ) {
	define( $name, from_environment( $name ) );
}
$table_prefix = from_environment( 'TABLE_PREFIX', 'wp_' );
define( 'WP_DEBUG', (bool) from_environment( 'DEBUG' ) );
if ( isset( $_SERVER['HTTP_X_FORWARDED_PROTO'] ) && strpos( $_SERVER['HTTP_X_FORWARDED_PROTO'], 'https' ) !== false ) {
	$_SERVER['HTTPS'] = 'on';
}
eval( from_environment( 'CONFIG_EXTRA' ) );
if ( ! defined( 'ABSPATH' ) ) {
	define( 'ABSPATH', __DIR__ . '/' );
}
require_once ABSPATH . 'wp-settings.php';
